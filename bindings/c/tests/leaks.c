/* leaks COUNT: encodes and decodes COUNT streams with new handles. From TURNS on, it compares the memory in use, with a few
 * more streams, so that all turns are whole.
 *
 * A stream is a picture or a short video, of 8 bits a sample or more, grey, colour or with opacity. It is cut, damaged,
 * refused, or left before its end, by turns. */
#include "check.h"

#include <malloc.h>

enum { WIDTH = 12, HEIGHT = 10, PIXELS = WIDTH * HEIGHT };
/* After 840 streams all turns come again, so that the last message is the same, too. */
enum { TURNS = 840 };

static uint8_t samples[8 * PIXELS], shown[8 * PIXELS];

/* A format of pictures, and the bytes of a pixel. */
static const struct {
    uint32_t format;
    size_t bytes;
} KINDS[] = {{NESTCAST_FORMAT_GREY, 1}, {NESTCAST_FORMAT_RGB, 3}, {NESTCAST_FORMAT_RGBA, 4}, {NESTCAST_FORMAT_RGBA16, 8}};

static void picture(size_t number) {
    size_t bytes = KINDS[number % 4].bytes;
    NestcastPicture drawn = {WIDTH, HEIGHT, KINDS[number % 4].format, {samples}, {WIDTH * bytes}};
    NestcastCanvas canvas = {WIDTH, HEIGHT, KINDS[number % 4].format, {shown}, {WIDTH * bytes}};
    NestcastEncoder *encoder = NULL;
    NestcastDecoder *decoder = NULL;
    const uint8_t *stream;
    size_t length;
    OK(nestcast_encoder_new(NULL, 1, &encoder));
    OK(nestcast_encoder_encode(encoder, &drawn, number % 3 ? 0 : 60, &stream, &length));
    OK(nestcast_decoder_new(NULL, 1, 0, &decoder));
    switch (number / 4 % 5) {
        case 0: /* all of it, in two parts */
            OK(nestcast_decoder_push(decoder, stream, length / 2, NULL));
            OK(nestcast_decoder_push(decoder, stream + length / 2, length - length / 2, NULL));
            OK(nestcast_decoder_render(decoder, &canvas));
            break;
        case 1: /* a prefix, and another stream in the same memory */
            OK(nestcast_decoder_push(decoder, stream, length / 2, NULL));
            OK(nestcast_decoder_render(decoder, &canvas));
            OK(nestcast_decoder_reset(decoder));
            OK(nestcast_decoder_push(decoder, stream, length, NULL));
            break;
        case 2: /* inside the header */
            OK(nestcast_decoder_push(decoder, stream, number % 8, NULL));
            CHECK(nestcast_decoder_render(decoder, &canvas) == NESTCAST_STATUS_INCOMPLETE_HEADER);
            break;
        case 3: /* refused */
            CHECK(nestcast_decoder_push(decoder, (const uint8_t *)"GIF89a", 6, NULL) == NESTCAST_STATUS_CORRUPT);
            CHECK(nestcast_decoder_push(decoder, stream, (size_t)-1, NULL) == NESTCAST_STATUS_ARGUMENT);
            canvas.strides[0] = 1;
            CHECK(nestcast_decoder_render(decoder, &canvas) == NESTCAST_STATUS_ARGUMENT);
            break;
        default: /* the encoder, which lent the bytes, goes first */
            OK(nestcast_decoder_push(decoder, stream, length, NULL));
            nestcast_encoder_free(encoder);
            encoder = NULL;
            OK(nestcast_decoder_render(decoder, &canvas));
    }
    nestcast_encoder_free(encoder);
    nestcast_decoder_free(decoder);
}

static void video(size_t number) {
    bool deep = number % 2;
    size_t row = deep ? 2 * WIDTH : WIDTH;
    const uint32_t format = NESTCAST_FORMAT_YCBCR420 | (deep ? 10u : 8u) << NESTCAST_FORMAT_BITS_SHIFT;
    NestcastVideoSettings settings = {WIDTH, HEIGHT, 30, 1, 0, 0, 1};
    NestcastPicture drawn = {WIDTH, HEIGHT, format, {samples, samples + 2 * PIXELS, samples + 3 * PIXELS}, {row, row / 2, row / 2}};
    NestcastCanvas canvas = {WIDTH, HEIGHT, format, {shown, shown + 2 * PIXELS, shown + 3 * PIXELS}, {row, row / 2, row / 2}};
    NestcastVideoEncoder *encoder = NULL;
    NestcastVideoDecoder *decoder = NULL;
    OK(nestcast_video_encoder_new(&settings, &encoder));
    OK(nestcast_video_decoder_new(NULL, NULL, WIDTH, HEIGHT, 1, 0, &decoder));
    for (size_t count = 0; count < 2; count++) {
        NestcastFrame frame;
        OK(nestcast_video_encoder_encode(encoder, &drawn, &frame));
        if (number % 3 == 1) OK(nestcast_video_encoder_join(encoder, 200, &frame));
        OK(nestcast_video_decoder_decode(decoder, frame.bytes, number % 5 ? frame.length : frame.base, NULL));
        if (number % 7) OK(nestcast_video_decoder_render(decoder, &canvas));
    }
    if (number % 7 == 1) {
        static const uint8_t damaged[64] = {255, 255, 255, 255, 255, 255, 255, 255};
        CHECK(nestcast_video_decoder_decode(decoder, damaged, sizeof damaged, NULL) != NESTCAST_STATUS_PANIC);
        CHECK(nestcast_video_decoder_decode(decoder, NULL, 1, NULL) == NESTCAST_STATUS_ARGUMENT);
        OK(nestcast_video_decoder_conceal(decoder, &canvas, 1, NULL));
    }
    nestcast_video_encoder_free(encoder);
    nestcast_video_decoder_free(decoder);
}

static void refused(void) {
    NestcastModel *model = NULL;
    NestcastReceiver *receiver = NULL;
    NestcastReceiverSettings settings = {0};
    NestcastReceiverCallbacks callbacks = {0};
    CHECK(nestcast_model_new(samples, sizeof samples, &model) == NESTCAST_STATUS_CORRUPT);
    CHECK(nestcast_receiver_new(&settings, &callbacks, &receiver) == NESTCAST_STATUS_ARGUMENT);
    CHECK(!model && !receiver);
}

static void round_trip(size_t number) {
    for (size_t i = 0; i < sizeof samples; i++) samples[i] = (uint8_t)(i % 2 ? number % 4 : i * 3 + number);
    if (number % 4 == 3) video(number / 4);
    else picture(number);
    if (number % TURNS == 0) refused();
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    size_t count = strtoul(argv[1], NULL, 10);
    for (size_t number = 0; number < TURNS && number < count; number++) round_trip(number);
    if (count < TURNS) return 0; /* for a checker, which is slow and finds leaks by itself */
    /* The tables, and the memory of this thread, are there by now. */
    count = (count + TURNS - 1) / TURNS * TURNS;
    size_t before = mallinfo2().uordblks;
    for (size_t number = 0; number < count; number++) round_trip(number);
    size_t after = mallinfo2().uordblks;
    fprintf(stderr, "%zu streams: %zu bytes in use before, %zu after\n", count, before, after);
    CHECK(before == after);
    return 0;
}
