/* Assertions that are never left out, and pictures that arithmetic makes. */
#include <nestcast.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                               \
    do {                                                                                               \
        if (!(condition)) {                                                                            \
            fprintf(stderr, "%s:%d: %s (last message: %s)\n", __FILE__, __LINE__, #condition,          \
                    nestcast_last_message());                                                          \
            exit(1);                                                                                   \
        }                                                                                              \
    } while (0)
#define OK(call) CHECK((call) == NESTCAST_STATUS_OK)
/* The call is refused with this status, and a message that has these words. */
#define REFUSED(call, status, words) CHECK((call) == (status) && strstr(nestcast_last_message(), words))

static inline uint8_t sample(size_t x, size_t y, size_t channel) {
    return (uint8_t)(x * (3 + channel) + y * (5 - channel) + (x > 20) * 60);
}

/* Fills rows of `width` samples of `channels` channels. */
static inline void draw(uint8_t *samples, size_t width, size_t height, size_t channels, size_t stride) {
    for (size_t y = 0; y < height; y++)
        for (size_t x = 0; x < width; x++)
            for (size_t c = 0; c < channels; c++) samples[y * stride + x * channels + c] = sample(x, y, c);
}
