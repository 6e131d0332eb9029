/* receive ADDRESS FINGERPRINT: writes a broadcast's video as y4m, for example into a player:
 * receive example.org:4433 e3b0... | ffplay - */
#include <nestcast.h>
#include <stdio.h>

static bool show(void *user, const NestcastShown *shown) {
    const NestcastPicture *picture = &shown->picture;
    int *frames = user;
    if (picture->format == NESTCAST_FORMAT_GREY || picture->format == NESTCAST_FORMAT_RGB) {
        fputs("the broadcast has pictures and no video\n", stderr);
        return false;
    }
    if (!(*frames)++) printf("YUV4MPEG2 W%u H%u F30:1 Ip A1:1 C420\n", picture->width, picture->height);
    fputs("FRAME\n", stdout);
    for (int plane = 0; plane < 3; plane++) {
        size_t width = plane ? (picture->width + 1) / 2 : picture->width;
        size_t height = plane ? (picture->height + 1) / 2 : picture->height;
        for (size_t y = 0; y < height; y++)
            fwrite(picture->planes[plane] + y * picture->strides[plane], 1, width, stdout);
    }
    return !ferror(stdout); /* the player was closed */
}

static void end(void *user, NestcastStatus status, const char *message) {
    if (status) fprintf(stderr, "%s\n", message);
    fprintf(stderr, "%d frames\n", *(int *)user);
}

int main(int argc, char **argv) {
    if (argc != 3) return fputs("usage: receive ADDRESS FINGERPRINT\n", stderr), 2;
    int frames = 0;
    NestcastReceiverSettings settings = {.address = argv[1], .fingerprint = argv[2], .latency_ms = -1, .threads = 1};
    NestcastReceiverCallbacks callbacks = {&frames, show, end};
    NestcastReceiver *receiver = NULL;
    if (nestcast_receiver_new(&settings, &callbacks, &receiver))
        return fprintf(stderr, "%s\n", nestcast_last_message()), 1;
    nestcast_receiver_wait(receiver);
    nestcast_receiver_free(receiver);
    return !frames;
}
