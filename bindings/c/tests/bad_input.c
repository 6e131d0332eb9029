/* What callers do wrong is refused by name, and nothing else happens. */
#include "check.h"

#include <pthread.h>

static NestcastEncoder *encoder;
static NestcastDecoder *decoder;
static const uint8_t *bytes;
static size_t length;

static void pictures(void) {
    static uint8_t memory[64 * 64 * 3];
    NestcastPicture good = {8, 8, NESTCAST_FORMAT_RGB, {memory}, {24}};
    NestcastPicture picture;
    const NestcastStatus argument = NESTCAST_STATUS_ARGUMENT;
    REFUSED(nestcast_encoder_new(NULL, 0, &encoder), argument, "at least one thread");
    REFUSED(nestcast_encoder_new(NULL, 1, NULL), argument, "encoder is NULL");
    OK(nestcast_encoder_new(NULL, 1, &encoder));
#define ENCODE(change, status, words)                                                  \
    picture = good;                                                                    \
    change;                                                                            \
    REFUSED(nestcast_encoder_encode(encoder, &picture, 0, &bytes, &length), status, words)
    ENCODE(picture.width = 0, argument, "a picture needs at least one pixel");
    ENCODE(picture.height = 0, argument, "a picture needs at least one pixel");
    ENCODE(picture.width = 16385, NESTCAST_STATUS_LIMIT, "is 16385, over the limit of 16384");
    ENCODE(picture.format = 99, argument, "NESTCAST_FORMAT_*");
    ENCODE(picture.planes[0] = NULL, argument, "a plane of the picture is NULL");
    ENCODE(picture.strides[0] = 23, argument, "its stride does not fit");
    ENCODE(picture.strides[0] = (size_t)-1, argument, "its stride does not fit");
    ENCODE(picture.format = NESTCAST_FORMAT_YCBCR420, argument, "a plane of the picture is NULL");
    ENCODE(picture.format = NESTCAST_FORMAT_YCBCR420 | 7 << NESTCAST_FORMAT_BITS_SHIFT, argument, "8 to 16 bits");
    ENCODE(picture.format = NESTCAST_FORMAT_YCBCR420 | 17 << NESTCAST_FORMAT_BITS_SHIFT, argument, "8 to 16 bits");
    ENCODE(picture.format = NESTCAST_FORMAT_RGB | 10 << NESTCAST_FORMAT_BITS_SHIFT, argument, "only a format of YCbCr");
    ENCODE(picture.format = UINT32_MAX, argument, "NESTCAST_FORMAT_*");
#undef ENCODE
    REFUSED(nestcast_encoder_encode(NULL, &good, 0, &bytes, &length), argument, "encoder is NULL");
    REFUSED(nestcast_encoder_encode(encoder, NULL, 0, &bytes, &length), argument, "picture is NULL");
    REFUSED(nestcast_encoder_encode(encoder, &good, 0, NULL, &length), argument, "bytes is NULL");
    REFUSED(nestcast_encoder_encode(encoder, &good, 0, &bytes, NULL), argument, "length is NULL");
    REFUSED(nestcast_encoder_encode((const NestcastEncoder *)((const char *)encoder + 1), &good, 0, &bytes, &length),
            argument, "misaligned");
    OK(nestcast_encoder_encode(encoder, &good, 0, &bytes, &length));
}

static void streams(void) {
    static uint8_t memory[4096];
    const NestcastStatus argument = NESTCAST_STATUS_ARGUMENT;
    NestcastHeader header;
    NestcastModel *model = NULL;
    NestcastCanvas canvas = {8, 8, NESTCAST_FORMAT_RGB, {memory}, {24}};
    REFUSED(nestcast_model_new((const uint8_t *)"tables", 6, &model), NESTCAST_STATUS_CORRUPT, "corrupt model");
    CHECK(!model);
    OK(nestcast_decoder_new(NULL, 1, 0, &decoder));
    REFUSED(nestcast_decoder_render(decoder, &canvas), NESTCAST_STATUS_INCOMPLETE_HEADER, "more bytes are needed");
    REFUSED(nestcast_decoder_push(decoder, NULL, 1, NULL), argument, "bytes is NULL");
    OK(nestcast_decoder_push(decoder, NULL, 0, NULL));
    REFUSED(nestcast_header_parse((const uint8_t *)"GIF89a", 6, &header), NESTCAST_STATUS_CORRUPT, "\"nst\"");
    REFUSED(nestcast_header_parse((const uint8_t *)"nst\x09", 4, &header), NESTCAST_STATUS_VERSION, "version 9");
    REFUSED(nestcast_header_parse(bytes, 6, &header), NESTCAST_STATUS_INCOMPLETE_HEADER, "more bytes are needed");
    REFUSED(nestcast_header_parse(bytes, length, NULL), argument, "header is NULL");
    REFUSED(nestcast_decoder_push(decoder, (const uint8_t *)"GIF89a", 6, NULL), NESTCAST_STATUS_CORRUPT, "\"nst\"");
    REFUSED(nestcast_decoder_push(decoder, bytes, length, NULL), NESTCAST_STATUS_CORRUPT, "\"nst\""); /* stays refused */
    OK(nestcast_decoder_reset(decoder));
    OK(nestcast_decoder_push(decoder, bytes, length, NULL));
    OK(nestcast_decoder_render(decoder, &canvas));
    canvas.width = 7;
    REFUSED(nestcast_decoder_render(decoder, &canvas), argument, "invalid argument");
    NestcastCanvas overlap = {8, 8, NESTCAST_FORMAT_YCBCR420, {memory, memory + 63, memory + 500}, {8, 4, 4}};
    REFUSED(nestcast_decoder_render(decoder, &overlap), argument, "planes of the canvas overlap");
    NestcastDecoder *small = NULL;
    OK(nestcast_decoder_new(NULL, 1, 63, &small));
    REFUSED(nestcast_decoder_push(small, bytes, length, NULL), NESTCAST_STATUS_LIMIT, "over the limit of 63");
    nestcast_decoder_free(small);
    uint8_t unknown[4096];
    memcpy(unknown, bytes, length);
    unknown[7] ^= 1;
    OK(nestcast_decoder_reset(decoder));
    REFUSED(nestcast_decoder_push(decoder, unknown, length, NULL), NESTCAST_STATUS_MODEL, "unsupported model");
    OK(nestcast_decoder_reset(decoder));
}

static void video(void) {
    static uint8_t memory[4096];
    const NestcastStatus argument = NESTCAST_STATUS_ARGUMENT;
    NestcastVideoEncoder *video_encoder = NULL;
    NestcastVideoDecoder *video_decoder = NULL;
    NestcastFrame frame;
    NestcastVideoSettings settings = {16, 16, 30, 1, 0, 0, 1}, wrong;
    wrong = settings, wrong.rate_seconds = 0;
    REFUSED(nestcast_video_encoder_new(&wrong, &video_encoder), argument, "a frame rate has");
    wrong = settings, wrong.slowest = 2, wrong.fastest = 1;
    REFUSED(nestcast_video_encoder_new(&wrong, &video_encoder), argument, "slowest");
    wrong = settings, wrong.threads = 0;
    REFUSED(nestcast_video_encoder_new(&wrong, &video_encoder), argument, "at least one thread");
    OK(nestcast_video_encoder_new(&settings, &video_encoder));
    NestcastPicture rgb = {16, 16, NESTCAST_FORMAT_RGB, {memory}, {48}};
    NestcastPicture other = {8, 8, NESTCAST_FORMAT_YCBCR420, {memory, memory, memory}, {8, 4, 4}};
    REFUSED(nestcast_video_encoder_encode(video_encoder, &rgb, &frame), argument, "invalid argument");
    REFUSED(nestcast_video_encoder_encode(video_encoder, &other, &frame), argument, "invalid argument");
    NestcastPicture narrow = {16, 16, NESTCAST_FORMAT_YCBCR420 | 10 << NESTCAST_FORMAT_BITS_SHIFT,
                              {memory, memory + 512, memory + 640}, {16, 16, 16}};
    REFUSED(nestcast_video_encoder_encode(video_encoder, &narrow, &frame), argument, "its stride does not fit");
    OK(nestcast_video_decoder_new(NULL, NULL, 16, 16, 1, 0, &video_decoder));
    NestcastCanvas wide = {16, 16, NESTCAST_FORMAT_YCBCR420 | 10 << NESTCAST_FORMAT_BITS_SHIFT,
                           {memory, memory + 511, memory + 640}, {32, 16, 16}};
    REFUSED(nestcast_video_decoder_render(video_decoder, &wide), argument, "planes of the canvas overlap");
    memset(memory, 255, sizeof memory);
    REFUSED(nestcast_video_decoder_decode(video_decoder, memory, 64, NULL), NESTCAST_STATUS_CORRUPT, "corrupt frame");
    NestcastArrived arrived;
    OK(nestcast_video_decoder_decode(video_decoder, memory, 0, &arrived));
    CHECK(arrived == NESTCAST_ARRIVED_NOTHING);
    nestcast_video_encoder_free(video_encoder);
    nestcast_video_decoder_free(video_decoder);
}

static int rounds;

/* Uses the shared decoder; counts what was refused. */
static void *use(void *refused) {
    for (int round = 0; round < rounds; round++) {
        NestcastStatus status = nestcast_decoder_push(decoder, bytes, length, NULL);
        CHECK(status == NESTCAST_STATUS_OK || status == NESTCAST_STATUS_ARGUMENT);
        *(int *)refused += status == NESTCAST_STATUS_ARGUMENT;
        status = nestcast_decoder_reset(decoder);
        CHECK(status == NESTCAST_STATUS_OK || status == NESTCAST_STATUS_ARGUMENT);
    }
    return NULL;
}

static void threads(void) {
    int refused[2] = {0, 0};
    pthread_t other;
    CHECK(!pthread_create(&other, NULL, use, &refused[1]));
    use(&refused[0]);
    CHECK(!pthread_join(other, NULL));
    /* Where the two never met, nothing was refused; the decoder is whole in any case. */
    printf("%d of %d calls of two threads were refused\n", refused[0] + refused[1], 2 * rounds);
    OK(nestcast_decoder_reset(decoder));
    OK(nestcast_decoder_push(decoder, bytes, length, NULL));
}

/* bad_input ROUNDS: the last part takes so many of two threads. */
int main(int argc, char **argv) {
    CHECK(argc == 2);
    rounds = atoi(argv[1]);
    pictures();
    streams();
    video();
    threads();
    nestcast_encoder_free(encoder);
    nestcast_decoder_free(decoder);
    nestcast_encoder_free(NULL);
    nestcast_decoder_free(NULL);
    nestcast_model_free(NULL);
    nestcast_video_encoder_free(NULL);
    nestcast_video_decoder_free(NULL);
    return 0;
}
