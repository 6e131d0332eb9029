/* Decodes the frames of a stored video: video_vectors TABLES VIDEO, with the bytes of each record that arrive in standard
 * input, one number a line. Writes the samples that are shown after each record, after their number in a line. */
#include "check.h"

static uint8_t *bytes;
static size_t length, at;

static uint64_t varint(void) {
    uint64_t value = 0;
    for (int shift = 0; shift < 35; shift += 7) {
        CHECK(at < length);
        uint8_t byte = bytes[at++];
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) return value;
    }
    CHECK(!"a number of at most five bytes");
    return 0;
}

static uint8_t *contents(const char *path, size_t *count) {
    FILE *file = fopen(path, "rb");
    CHECK(file);
    uint8_t *read = malloc(1 << 22);
    *count = fread(read, 1, 1 << 22, file);
    fclose(file);
    return read;
}

int main(int argc, char **argv) {
    CHECK(argc == 3);
    size_t count;
    uint8_t *tables = contents(argv[1], &count);
    NestcastModel *model = NULL;
    OK(nestcast_model_new(tables, count, &model));
    free(tables);
    bytes = contents(argv[2], &length);
    CHECK(length > 6 && !memcmp(bytes, "nst", 3) && (bytes[3] == 1 || bytes[3] == 2));
    uint8_t kind = bytes[4], signal = bytes[5];
    CHECK(kind == 2 || kind == 3);
    CHECK(!(signal & 0x43)); /* BT.601, limited, square pixels */
    at = 6;
    uint32_t width = (uint32_t)varint() + 1, height = (uint32_t)varint() + 1;
    varint(), varint(); /* the frame rate */
    at += 12;           /* the models */
    size_t renditions = 1;
    if (kind == 3) {
        renditions = bytes[at++];
        for (size_t rendition = 0; rendition < renditions; rendition++) varint();
    }
    uint32_t bits = 8;
    if (bytes[3] == 2) bits += bytes[at++];
    size_t sample = bits > 8 ? 2 : 1; /* its bytes */
    NestcastVideoDecoder *decoders[3] = {NULL};
    CHECK(renditions >= 1 && renditions <= 3);
    for (size_t rendition = 0; rendition < renditions; rendition++)
        OK(nestcast_video_decoder_new(model, model, width, height, 2, 0, &decoders[rendition]));
    nestcast_model_free(model);
    size_t row = sample * width, columns = sample * ((width + 1) / 2);
    size_t luma = row * height, chroma = columns * ((height + 1) / 2);
    uint8_t *samples = malloc(luma + 2 * chroma);
    NestcastCanvas canvas = {width, height, NESTCAST_FORMAT_YCBCR420 | bits << NESTCAST_FORMAT_BITS_SHIFT,
                             {samples, samples + luma, samples + luma + chroma}, {row, columns, columns}};
    for (size_t record = 0; at < length;) {
        uint64_t size = varint();
        if (!size) { /* a block: the index is the last one */
            uint64_t type = varint(), body = varint();
            if (!type) break;
            at += body;
            continue;
        }
        size_t arrive;
        CHECK(scanf("%zu", &arrive) == 1 && arrive <= size - 1 && at + size - 1 <= length);
        NestcastVideoDecoder *decoder = decoders[record++ % renditions];
        OK(nestcast_video_decoder_decode(decoder, bytes + at, arrive, NULL));
        OK(nestcast_video_decoder_render(decoder, &canvas));
        printf("%zu\n", luma + 2 * chroma);
        fwrite(samples, 1, luma + 2 * chroma, stdout);
        at += size - 1;
    }
    for (size_t rendition = 0; rendition < renditions; rendition++) nestcast_video_decoder_free(decoders[rendition]);
    free(samples);
    free(bytes);
    return 0;
}
