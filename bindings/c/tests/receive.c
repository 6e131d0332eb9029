/* receive ADDRESS FINGERPRINT COUNT [free|stop|token TEXT|bits NUMBER]: receives COUNT pictures, and prints a line for each
 * and for the end. With `free`, the callback frees its receiver. With `stop`, a receiver that waits for further broadcasts
 * is stopped by another thread while this one waits for its end. */
#include "check.h"

#include <pthread.h>

typedef struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    NestcastReceiver *receiver;
    int left, frees, stops, ended;
} State;

static bool show(void *user, const NestcastShown *shown) {
    State *state = user;
    const NestcastPicture *picture = &shown->picture;
    size_t sum = 0;
    /* All samples are readable. */
    for (size_t plane = 0; plane < 3; plane++) {
        if (!picture->planes[plane]) continue;
        size_t width = plane ? (picture->width + 1) / 2 : picture->width;
        bool deep = picture->format >> NESTCAST_FORMAT_BITS_SHIFT;
        size_t height = plane ? (picture->height + 1) / 2 : picture->height;
        if (picture->format == NESTCAST_FORMAT_RGB) width *= 3;
        for (size_t y = 0; y < height; y++)
            for (size_t x = 0; x < width; x++) {
                const uint8_t *row = picture->planes[plane] + y * picture->strides[plane];
                sum += deep ? row[2 * x] | row[2 * x + 1] << 8 : row[x];
            }
    }
    printf("%ux%u %u %zu\n", picture->width, picture->height, picture->format, sum);
    CHECK(shown->concealed || (shown->captured > 0 && shown->bytes > 0 && shown->full >= shown->bytes));
    pthread_mutex_lock(&state->lock);
    bool goes_on = --state->left > 0 || state->stops;
    pthread_cond_broadcast(&state->changed);
    NestcastReceiver *freed = state->frees && !goes_on ? state->receiver : NULL;
    pthread_mutex_unlock(&state->lock);
    if (freed) {
        OK(nestcast_receiver_stop(freed)); /* a callback may */
        nestcast_receiver_free(freed);
    }
    return goes_on;
}

static void end(void *user, NestcastStatus status, const char *message) {
    State *state = user;
    printf("end %d %s\n", (int)status, message);
    pthread_mutex_lock(&state->lock);
    state->ended = 1;
    pthread_cond_broadcast(&state->changed);
    pthread_mutex_unlock(&state->lock);
}

/* Stops the receiver after the last picture. */
static void *stop(void *user) {
    State *state = user;
    pthread_mutex_lock(&state->lock);
    while (state->left > 0) pthread_cond_wait(&state->changed, &state->lock);
    pthread_mutex_unlock(&state->lock);
    OK(nestcast_receiver_stop(state->receiver));
    OK(nestcast_receiver_stop(state->receiver));
    return NULL;
}

/* Waits for a receiver's end in this thread, which another one brings about. */
static int wait_until_stopped(State *state, const NestcastReceiverSettings *settings) {
    NestcastReceiverCallbacks callbacks = {state, show, end};
    pthread_t other;
    OK(nestcast_receiver_new(settings, &callbacks, &state->receiver));
    CHECK(!pthread_create(&other, NULL, stop, state));
    OK(nestcast_receiver_wait(state->receiver));
    CHECK(state->ended && !pthread_join(other, NULL));
    nestcast_receiver_free(state->receiver);
    return 0;
}

static void bad_settings(void) {
    const NestcastStatus argument = NESTCAST_STATUS_ARGUMENT;
    const char *digits = "0000000000000000000000000000000000000000000000000000000000000000";
    NestcastReceiverSettings good = {0}, settings;
    good.address = "127.0.0.1:1", good.fingerprint = digits, good.threads = 1;
    NestcastReceiverCallbacks callbacks = {NULL, show, end}, none = {NULL, NULL, end};
    NestcastReceiver *receiver = NULL;
#define NEW(change, words)                                                             \
    settings = good;                                                                   \
    change;                                                                            \
    REFUSED(nestcast_receiver_new(&settings, &callbacks, &receiver), argument, words)
    NEW(settings.address = NULL, "address is NULL");
    NEW(settings.address = "nowhere", "a host and a port");
    NEW(settings.address = "\xff:1", "address is not UTF-8");
    NEW(settings.fingerprint = "12", "64 hexadecimal digits");
    NEW(settings.fingerprint = NULL, "either a fingerprint or a file");
    NEW(settings.authorities = "file", "either a fingerprint or a file");
    NEW(settings.threads = 0, "at least one thread");
    NEW(settings.latency_ms = 401, "at most 400");
    NEW(settings.max_bits = 7, "max_bits is 8 to 16");
    NEW(settings.max_bits = 256, "max_bits is 8 to 16");
    NEW(settings.token_length = 1, "bytes is NULL");
#undef NEW
    REFUSED(nestcast_receiver_stop(NULL), argument, "receiver is NULL");
    REFUSED(nestcast_receiver_new(NULL, &callbacks, &receiver), argument, "settings is NULL");
    REFUSED(nestcast_receiver_new(&good, NULL, &receiver), argument, "callbacks is NULL");
    REFUSED(nestcast_receiver_new(&good, &callbacks, NULL), argument, "receiver is NULL");
    REFUSED(nestcast_receiver_new(&good, &none, &receiver), argument, "show is NULL");
    CHECK(!receiver);
    nestcast_receiver_free(NULL);
}

int main(int argc, char **argv) {
    CHECK(argc == 4 || argc == 5 || argc == 6);
    bad_settings();
    int stops = argc == 5 && !strcmp(argv[4], "stop");
    int frees = argc == 5 && !stops;
    State state = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL, atoi(argv[3]), frees, stops, 0};
    NestcastReceiverSettings settings = {0};
    settings.address = argv[1], settings.fingerprint = argv[2], settings.threads = 1, settings.latency_ms = -1;
    if (argc == 6 && !strcmp(argv[4], "bits")) settings.max_bits = (uint32_t)atoi(argv[5]);
    if (argc == 6 && !strcmp(argv[4], "token")) settings.token = (const uint8_t *)argv[5], settings.token_length = strlen(argv[5]);
    settings.wait = stops;
    /* A checked program on a busy machine may be too slow for its first handshake. */
    if (!strstr(argv[1], ".invalid")) settings.retry_ms = stops ? 0 : 60000;
    if (stops) return wait_until_stopped(&state, &settings);
    NestcastReceiverCallbacks callbacks = {&state, show, end};
    pthread_mutex_lock(&state.lock); /* until the handle is there */
    OK(nestcast_receiver_new(&settings, &callbacks, &state.receiver));
    while (!state.ended) pthread_cond_wait(&state.changed, &state.lock);
    pthread_mutex_unlock(&state.lock);
    if (!state.frees) nestcast_receiver_free(state.receiver);
    return 0;
}
