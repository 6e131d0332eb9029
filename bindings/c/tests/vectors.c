/* Decodes prefixes: vectors TABLES, with lines `PATH BYTES` in standard input. Writes the samples of each as stored, after their
 * number in a line of its own. */
#include "check.h"

static uint8_t *contents(const char *path, size_t *length) {
    FILE *file = fopen(path, "rb");
    CHECK(file);
    uint8_t *bytes = malloc(1 << 22);
    *length = fread(bytes, 1, 1 << 22, file);
    fclose(file);
    return bytes;
}

static size_t pixel_bytes(uint32_t format) {
    static const size_t bytes[] = {1, 3, 0, 0, 0, 0, 2, 4, 2, 4, 6, 8};
    CHECK(format < sizeof bytes / sizeof *bytes && bytes[format]);
    return bytes[format];
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    size_t length, cut;
    uint8_t *bytes = contents(argv[1], &length);
    NestcastModel *model = NULL;
    NestcastDecoder *decoder = NULL;
    OK(nestcast_model_new(bytes, length, &model));
    free(bytes);
    OK(nestcast_decoder_new(model, 2, 0, &decoder));
    nestcast_model_free(model); /* the decoder goes on */
    NestcastProgress progress;
    char path[4096];
    while (scanf("%4095s %zu", path, &cut) == 2) {
        bytes = contents(path, &length);
        CHECK(cut <= length);
        OK(nestcast_decoder_reset(decoder));
        OK(nestcast_decoder_push(decoder, bytes, cut, &progress));
        CHECK(progress.position >= 0 && (progress.position == 0 || !progress.complete));
        NestcastHeader header;
        OK(nestcast_decoder_header(decoder, &header));
        size_t row = (size_t)header.width * pixel_bytes(header.stored_format);
        uint8_t *samples = malloc(row * header.height);
        NestcastCanvas canvas = {header.width, header.height, header.stored_format, {samples}, {row}};
        OK(nestcast_decoder_render(decoder, &canvas));
        printf("%zu\n", row * header.height);
        fwrite(samples, row, header.height, stdout);
        free(samples);
        free(bytes);
    }
    nestcast_decoder_free(decoder);
    return 0;
}
