/* Pictures and video there and back, in memory with gaps. */
#include "check.h"

enum { WIDTH = 41, HEIGHT = 30, STRIDE = 3 * WIDTH + 9 };

static double error(const uint8_t *a, const uint8_t *b, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) sum += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
    return sum / (double)count;
}

static void pictures(void) {
    static uint8_t wide[STRIDE * HEIGHT], dense[3 * WIDTH * HEIGHT], out[STRIDE * HEIGHT];
    draw(wide, WIDTH, HEIGHT, 3, STRIDE);
    draw(dense, WIDTH, HEIGHT, 3, 3 * WIDTH);
    NestcastPicture with_gaps = {WIDTH, HEIGHT, NESTCAST_FORMAT_RGB, {wide}, {STRIDE}};
    NestcastPicture without = {WIDTH, HEIGHT, NESTCAST_FORMAT_RGB, {dense}, {3 * WIDTH}};
    NestcastEncoder *encoder = NULL;
    OK(nestcast_encoder_new(NULL, 1, &encoder));
    const uint8_t *bytes;
    size_t length, shorter;
    OK(nestcast_encoder_encode(encoder, &with_gaps, 0, &bytes, &length));
    uint8_t *stream = malloc(length);
    memcpy(stream, bytes, length);
    OK(nestcast_encoder_encode(encoder, &without, 0, &bytes, &shorter));
    CHECK(shorter == length && !memcmp(stream, bytes, length));
    OK(nestcast_encoder_encode(encoder, &without, 100, &bytes, &shorter));
    CHECK(shorter == 100 && !memcmp(stream, bytes, 100));
    nestcast_encoder_free(encoder);

    NestcastDecoder *decoder = NULL;
    OK(nestcast_decoder_new(NULL, 1, 0, &decoder));
    NestcastProgress progress;
    NestcastHeader header;
    OK(nestcast_decoder_push(decoder, stream, 5, &progress));
    CHECK(progress.missing_header_bytes > 0 && !progress.complete);
    REFUSED(nestcast_decoder_header(decoder, &header), NESTCAST_STATUS_INCOMPLETE_HEADER, "more bytes are needed");
    double last = 1e9;
    for (size_t at = 5; at < length; at += 200) {
        size_t count = length - at < 200 ? length - at : 200;
        OK(nestcast_decoder_push(decoder, stream + at, count, &progress));
        memset(out, 7, sizeof out);
        NestcastCanvas canvas = {WIDTH, HEIGHT, NESTCAST_FORMAT_RGB, {out}, {STRIDE}};
        OK(nestcast_decoder_render(decoder, &canvas));
        double now = 0;
        for (size_t y = 0; y < HEIGHT; y++) {
            now += error(out + y * STRIDE, dense + y * 3 * WIDTH, 3 * WIDTH) / HEIGHT;
            for (size_t x = 3 * WIDTH; x < STRIDE; x++) CHECK(out[y * STRIDE + x] == 7);
        }
        CHECK(now < last * 1.2);
        last = now;
    }
    CHECK(progress.complete && progress.position == 0 && last < 4);
    OK(nestcast_decoder_header(decoder, &header));
    CHECK(header.width == WIDTH && header.height == HEIGHT && header.format == NESTCAST_FORMAT_RGB);
    NestcastHeader parsed;
    OK(nestcast_header_parse(stream, length, &parsed));
    CHECK(!memcmp(parsed.model, header.model, sizeof parsed.model));
    /* The same stream, planar. */
    uint8_t luma[WIDTH * HEIGHT], blue[21 * 15], red[21 * 15];
    NestcastCanvas planar = {WIDTH, HEIGHT, NESTCAST_FORMAT_YCBCR420, {luma, blue, red}, {WIDTH, 21, 21}};
    OK(nestcast_decoder_render(decoder, &planar));
    CHECK(luma[0] >= 16 && luma[0] <= 235);
    nestcast_decoder_free(decoder);
    free(stream);
}

static uint16_t sample16(const uint8_t *samples, size_t index) {
    return (uint16_t)(samples[2 * index] | samples[2 * index + 1] << 8);
}

/* 16 bits a sample, and opacity: nothing of the left half shows. */
static void deep_pictures(void) {
    enum { W = 32, H = 24 };
    static uint8_t deep[W * H * 8], back[W * H * 8], shown[W * H * 3];
    for (size_t pixel = 0; pixel < W * H; pixel++)
        for (size_t channel = 0; channel < 4; channel++) {
            size_t x = pixel % W, value = x * 1200 + pixel / W * 600 + channel * 4001;
            if (channel == 3) value = x < W / 2 ? 0 : 65535;
            deep[8 * pixel + 2 * channel] = (uint8_t)value;
            deep[8 * pixel + 2 * channel + 1] = (uint8_t)(value >> 8);
        }
    NestcastPicture picture = {W, H, NESTCAST_FORMAT_RGBA16, {deep}, {W * 8}};
    NestcastEncoder *encoder = NULL;
    NestcastDecoder *decoder = NULL;
    const uint8_t *bytes;
    size_t length;
    OK(nestcast_encoder_new(NULL, 1, &encoder));
    OK(nestcast_decoder_new(NULL, 1, 0, &decoder));
    OK(nestcast_encoder_encode(encoder, &picture, 0, &bytes, &length));
    OK(nestcast_decoder_push(decoder, bytes, length, NULL));
    NestcastHeader header;
    OK(nestcast_decoder_header(decoder, &header));
    CHECK(header.format == NESTCAST_FORMAT_RGB && header.stored_format == NESTCAST_FORMAT_RGBA16);
    NestcastCanvas all = {W, H, header.stored_format, {back}, {W * 8}};
    OK(nestcast_decoder_render(decoder, &all));
    double sum = 0;
    for (size_t index = 0; index < W * H * 4; index++) {
        double difference = (double)sample16(back, index) - sample16(deep, index);
        sum += difference * difference;
    }
    /* Rounding to 8 bits alone gives a mean square error of 5500. */
    CHECK(sum / (W * H * 4) < 1000);
    NestcastCanvas white = {W, H, header.format, {shown}, {W * 3}};
    OK(nestcast_decoder_render(decoder, &white));
    for (size_t pixel = 0; pixel < W * H; pixel++)
        for (size_t channel = 0; channel < 3; channel++) {
            int expected = pixel % W < W / 2 ? 255 : sample16(deep, 4 * pixel + channel) / 257;
            CHECK(abs(shown[3 * pixel + channel] - expected) <= 2);
        }
    NestcastCanvas wrong = {W, H, NESTCAST_FORMAT_GREY16, {back}, {W * 8}};
    REFUSED(nestcast_decoder_render(decoder, &wrong), NESTCAST_STATUS_ARGUMENT, "channels");
    nestcast_encoder_free(encoder);
    nestcast_decoder_free(decoder);
}

/* A slow ramp of 10 bits a sample comes back finer than 8 bits could show it. */
static void deep_video(void) {
    enum { W = 64, H = 48, LUMA = W * H, CHROMA = LUMA / 4, ALL = LUMA + 2 * CHROMA, BITS = 10 };
    static uint8_t samples[2 * ALL], deep[2 * ALL], out[ALL];
    for (size_t index = 0; index < ALL; index++) {
        size_t value = index < LUMA ? 400 + index % W + index / W / 2 : 512;
        samples[2 * index] = (uint8_t)value, samples[2 * index + 1] = (uint8_t)(value >> 8);
    }
    const uint32_t format = NESTCAST_FORMAT_YCBCR420 | BITS << NESTCAST_FORMAT_BITS_SHIFT;
    NestcastVideoSettings settings = {W, H, 30, 1, 100000, 16000000, 1};
    NestcastPicture picture = {W, H, format, {samples, samples + 2 * LUMA, samples + 2 * (LUMA + CHROMA)}, {2 * W, W, W}};
    NestcastCanvas canvas = {W, H, format, {deep, deep + 2 * LUMA, deep + 2 * (LUMA + CHROMA)}, {2 * W, W, W}};
    NestcastCanvas shallow = {W, H, NESTCAST_FORMAT_YCBCR420, {out, out + LUMA, out + LUMA + CHROMA}, {W, W / 2, W / 2}};
    NestcastVideoEncoder *encoder = NULL;
    NestcastVideoDecoder *decoder = NULL;
    OK(nestcast_video_encoder_new(&settings, &encoder));
    OK(nestcast_video_decoder_new(NULL, NULL, W, H, 1, 0, &decoder));
    for (size_t number = 0; number < 4; number++) {
        NestcastFrame frame;
        OK(nestcast_video_encoder_encode(encoder, &picture, &frame));
        OK(nestcast_video_decoder_decode(decoder, frame.bytes, frame.length, NULL));
    }
    OK(nestcast_video_decoder_render(decoder, &canvas));
    OK(nestcast_video_decoder_render(decoder, &shallow));
    double deep_error = 0, shallow_error = 0;
    for (size_t index = 0; index < LUMA; index++) {
        double value = sample16(samples, index), shown = sample16(deep, index);
        CHECK(shown < 1 << BITS);
        deep_error += (shown - value) * (shown - value) / LUMA;
        shallow_error += (4.0 * out[index] - value) * (4.0 * out[index] - value) / LUMA;
    }
    CHECK(deep_error < 0.5 && deep_error < shallow_error / 2);
    OK(nestcast_video_decoder_conceal(decoder, &canvas, 1, NULL));
    nestcast_video_encoder_free(encoder);
    nestcast_video_decoder_free(decoder);
}

static void video(void) {
    enum { W = 64, H = 48 };
    static uint8_t planes[W * H * 3 / 2], out[W * H * 3 / 2], grey[W * H * 3 / 2];
    NestcastVideoSettings settings = {W, H, 30, 1, 100000, 1600000, 1};
    NestcastVideoEncoder *encoder = NULL;
    NestcastVideoDecoder *decoder = NULL, *joined = NULL;
    OK(nestcast_video_encoder_new(&settings, &encoder));
    OK(nestcast_video_decoder_new(NULL, NULL, W, H, 1, 0, &decoder));
    OK(nestcast_video_decoder_new(NULL, NULL, W, H, 1, 0, &joined));
    NestcastPicture picture = {W, H, NESTCAST_FORMAT_YCBCR420,
                               {planes, planes + W * H, planes + W * H * 5 / 4}, {W, W / 2, W / 2}};
    NestcastCanvas canvas = {W, H, NESTCAST_FORMAT_YCBCR420, {out, out + W * H, out + W * H * 5 / 4}, {W, W / 2, W / 2}};
    OK(nestcast_video_decoder_render(decoder, &canvas));
    memcpy(grey, out, sizeof out);
    for (size_t number = 0; number < 6; number++) {
        for (size_t y = 0; y < H; y++)
            for (size_t x = 0; x < W; x++) planes[y * W + x] = 16 + sample(x + 2 * number, y, 0) % 200;
        memset(planes + W * H, 120, W * H / 2);
        NestcastFrame frame;
        NestcastArrived arrived;
        OK(nestcast_video_encoder_encode(encoder, &picture, &frame));
        CHECK(frame.key == (number == 0) && frame.base <= frame.enhancement_reference);
        CHECK(frame.enhancement_reference <= frame.length);
        OK(nestcast_video_decoder_decode(decoder, frame.bytes, frame.base, &arrived));
        CHECK(arrived >= NESTCAST_ARRIVED_BASE);
        OK(nestcast_video_decoder_render(decoder, &canvas));
        CHECK(error(out, planes, W * H) < error(grey, planes, W * H));
        if (number == 3) {
            OK(nestcast_video_encoder_join(encoder, 3000, &frame));
            CHECK(frame.key);
            OK(nestcast_video_encoder_set_bitrates(encoder, 200000, 800000));
        }
        if (number >= 3) {
            OK(nestcast_video_decoder_decode(joined, frame.bytes, frame.length, &arrived));
            CHECK(arrived >= NESTCAST_ARRIVED_BASE);
        }
    }
    bool moved;
    OK(nestcast_video_decoder_conceal(decoder, &canvas, 1, &moved));
    OK(nestcast_video_decoder_conceal(decoder, &canvas, 1, NULL));
    nestcast_video_encoder_free(encoder);
    nestcast_video_decoder_free(decoder);
    nestcast_video_decoder_free(joined);
}

int main(void) {
    CHECK(strlen(nestcast_version()) >= 5);
    pictures();
    deep_pictures();
    deep_video();
    video();
    return 0;
}
