/* Decodes the first BYTES bytes of a stream: prefix STREAM BYTES > picture.ppm */
#include <nestcast.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    FILE *file = argc == 3 ? fopen(argv[1], "rb") : NULL;
    if (!file) return fputs("usage: prefix STREAM BYTES > picture.ppm\n", stderr), 2;
    NestcastDecoder *decoder = NULL;
    NestcastStatus status = nestcast_decoder_new(NULL, 1, 0, &decoder);
    uint8_t piece[4096];
    size_t left = strtoul(argv[2], NULL, 10), count;
    while (!status && left && (count = fread(piece, 1, left < sizeof piece ? left : sizeof piece, file)) > 0) {
        status = nestcast_decoder_push(decoder, piece, count, NULL); /* bytes as they arrive */
        left -= count;
    }
    NestcastHeader header = {0};
    if (!status) status = nestcast_decoder_header(decoder, &header);
    size_t row = header.width * (header.format == NESTCAST_FORMAT_RGB ? 3 : 1);
    uint8_t *samples = calloc(header.height + 1, row + 1); /* the caller's memory, with rows of any stride */
    NestcastCanvas canvas = {header.width, header.height, header.format, {samples}, {row}};
    if (!status) status = nestcast_decoder_render(decoder, &canvas);
    if (status) fprintf(stderr, "%s: %s\n", argv[1], nestcast_last_message());
    else printf("P%d\n%u %u\n255\n", header.format == NESTCAST_FORMAT_RGB ? 6 : 5, header.width, header.height);
    if (!status) fwrite(samples, row, header.height, stdout);
    free(samples);
    nestcast_decoder_free(decoder);
    fclose(file);
    return status != NESTCAST_STATUS_OK;
}
