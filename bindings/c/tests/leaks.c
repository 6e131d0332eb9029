/* leaks COUNT: encodes and decodes COUNT streams with new handles, and compares the memory in use. */
#include "check.h"

#include <malloc.h>

static void round_trip(size_t number) {
    static uint8_t memory[12 * 9], out[12 * 9];
    for (size_t i = 0; i < sizeof memory; i++) memory[i] = (uint8_t)(i * 3 + number);
    NestcastPicture picture = {12, 9, NESTCAST_FORMAT_GREY, {memory}, {12}};
    NestcastCanvas canvas = {12, 9, NESTCAST_FORMAT_GREY, {out}, {12}};
    NestcastEncoder *encoder = NULL;
    NestcastDecoder *decoder = NULL;
    const uint8_t *bytes;
    size_t length;
    OK(nestcast_encoder_new(NULL, 1, &encoder));
    OK(nestcast_encoder_encode(encoder, &picture, 0, &bytes, &length));
    OK(nestcast_decoder_new(NULL, 1, 0, &decoder));
    OK(nestcast_decoder_push(decoder, bytes, number % 2 ? length : length / 2, NULL));
    OK(nestcast_decoder_render(decoder, &canvas));
    /* Errors leave nothing either. */
    CHECK(nestcast_decoder_push(decoder, bytes, (size_t)-1, NULL) == NESTCAST_STATUS_ARGUMENT);
    nestcast_encoder_free(encoder);
    nestcast_decoder_free(decoder);
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    size_t count = strtoul(argv[1], NULL, 10);
    for (size_t number = 0; number < 100; number++) round_trip(number); /* tables, and memory of this thread */
    size_t before = mallinfo2().uordblks;
    for (size_t number = 0; number < count; number++) round_trip(number);
    size_t after = mallinfo2().uordblks;
    fprintf(stderr, "%zu streams: %zu bytes in use before, %zu after\n", count, before, after);
    CHECK(before == after);
    return 0;
}
