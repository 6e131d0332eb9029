/*
 * nestcast: pictures and video as one embedded stream. Every prefix, cut at any byte, decodes.
 *
 * Functions return a NestcastStatus; nestcast_last_message says why one failed. Handles come from the `_new` functions
 * and go back to `_free`, which accept NULL. Pixels stay in the caller's memory, with rows of any stride.
 *
 * Threads: every function may be called from any thread. One handle serves one call at a time: a second thread gets
 * NESTCAST_STATUS_ARGUMENT. Models are never changed, so any number of threads may share one. Free a handle after all
 * calls that use it have returned. Pointers that a handle lends (the bytes of a stream or frame) are valid until the
 * next call with that handle.
 *
 * This file is made from the Rust sources: change those.
 */

#ifndef NESTCAST_H
#define NESTCAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * One plane of luminance.
 */
#define NESTCAST_FORMAT_GREY 0

/**
 * One plane of red, green and blue, interleaved.
 */
#define NESTCAST_FORMAT_RGB 1

/**
 * Three planes, luma of 16 to 235, and blue and red differences of half the width and height, rounded up. BT.601.
 */
#define NESTCAST_FORMAT_YCBCR420 2

/**
 * As NESTCAST_FORMAT_YCBCR420, by BT.709.
 */
#define NESTCAST_FORMAT_YCBCR420_BT709 3

/**
 * As NESTCAST_FORMAT_YCBCR420, with luma of 0 to 255, as in JPEG.
 */
#define NESTCAST_FORMAT_YCBCR420_FULL 4

/**
 * As NESTCAST_FORMAT_YCBCR420_FULL, by BT.709.
 */
#define NESTCAST_FORMAT_YCBCR420_BT709_FULL 5

/**
 * One plane of luminance and opacity, interleaved. Opacity is 0 for a pixel that does not show, and the largest value for
 * an opaque one. Colours are not multiplied by it.
 */
#define NESTCAST_FORMAT_GREY_ALPHA 6

/**
 * One plane of red, green, blue and opacity, interleaved.
 */
#define NESTCAST_FORMAT_RGBA 7

/**
 * As NESTCAST_FORMAT_GREY, of 16 bits a sample: two bytes, the lower one first, with white at 65535.
 */
#define NESTCAST_FORMAT_GREY16 8

/**
 * As NESTCAST_FORMAT_GREY_ALPHA, of 16 bits a sample.
 */
#define NESTCAST_FORMAT_GREY_ALPHA16 9

/**
 * As NESTCAST_FORMAT_RGB, of 16 bits a sample.
 */
#define NESTCAST_FORMAT_RGB16 10

/**
 * As NESTCAST_FORMAT_RGBA, of 16 bits a sample.
 */
#define NESTCAST_FORMAT_RGBA16 11

/**
 * Where a format of YCbCr says how many bits a sample has, 9 to 16, for video: `NESTCAST_FORMAT_YCBCR420 | 10 <<
 * NESTCAST_FORMAT_BITS_SHIFT` has 10. A sample is then two bytes, the lower one first, with its value in the lowest bits;
 * ffmpeg calls it yuv420p10le. Black of 16 is 64 in 10 bits. Without it, or with 8, samples have 8 bits.
 */
#define NESTCAST_FORMAT_BITS_SHIFT 8

/**
 * The result of a call, by who must act.
 */
typedef enum {
  /**
   * The call did what it says.
   */
  NESTCAST_STATUS_OK = 0,
  /**
   * The bytes break the specification: get them again.
   */
  NESTCAST_STATUS_CORRUPT = 1,
  /**
   * This library does not know the version of the bytes: update it.
   */
  NESTCAST_STATUS_VERSION = 2,
  /**
   * The stream needs another model.
   */
  NESTCAST_STATUS_MODEL = 3,
  /**
   * The input is larger than agreed: raise the limit or refuse it.
   */
  NESTCAST_STATUS_LIMIT = 4,
  /**
   * The arguments do not fit together, or another thread uses the handle: a mistake of the caller.
   */
  NESTCAST_STATUS_ARGUMENT = 5,
  /**
   * The stream ends inside its header: push more of it.
   */
  NESTCAST_STATUS_INCOMPLETE_HEADER = 6,
  /**
   * A transform failed for another reason.
   */
  NESTCAST_STATUS_TRANSFORM = 7,
  /**
   * A defect of this library. The handle of the call is of no more use: free it.
   */
  NESTCAST_STATUS_PANIC = 8,
  /**
   * The sender cannot be reached or trusted, refuses the receiver, or broke off.
   */
  NESTCAST_STATUS_SESSION = 9,
} NestcastStatus;

/**
 * How much of a frame arrived.
 */
typedef enum {
  /**
   * Less than its head and motion, or its motion copies that of a frame before which was not decoded: the frame was
   * skipped, and the picture before stays.
   */
  NESTCAST_ARRIVED_NOTHING = 0,
  /**
   * Less than the base: later frames are damaged until a key frame, or for 128 frames and more.
   */
  NESTCAST_ARRIVED_PART = 1,
  /**
   * The base or more.
   */
  NESTCAST_ARRIVED_BASE = 2,
  /**
   * All bytes from which later frames are predicted, or more.
   */
  NESTCAST_ARRIVED_ENHANCEMENT_REFERENCE = 3,
} NestcastArrived;

/**
 * Decodes streams one after another in the same memory.
 */
typedef struct NestcastDecoder NestcastDecoder;

/**
 * Encodes pictures one after another in the same memory.
 */
typedef struct NestcastEncoder NestcastEncoder;

/**
 * The tables of a model. It never changes, so any number of threads may share it. Where a function takes a model, NULL
 * is the built-in one: `photo` for pictures, `video` for video.
 */
typedef struct NestcastModel NestcastModel;

/**
 * Receives a broadcast on threads of its own.
 */
typedef struct NestcastReceiver NestcastReceiver;

/**
 * Decodes the frames of one video, one after another.
 */
typedef struct NestcastVideoDecoder NestcastVideoDecoder;

/**
 * Encodes the frames of one video, one after another.
 */
typedef struct NestcastVideoEncoder NestcastVideoEncoder;

/**
 * What the first bytes of a stream say.
 */
typedef struct {
  /**
   * Pixels from left to right.
   */
  uint32_t width;
  /**
   * Pixels from top to bottom.
   */
  uint32_t height;
  /**
   * NESTCAST_FORMAT_GREY or NESTCAST_FORMAT_RGB: a format to decode into, opaque and of 8 bits a sample. The picture
   * is shown over white. An RGB stream also decodes into the formats of YCbCr.
   */
  uint32_t format;
  /**
   * The format that keeps all that the stream has: `format`, or one with opacity, of 16 bits a sample, or both.
   */
  uint32_t stored_format;
  /**
   * The first bytes of the SHA-256 of the model's tables.
   */
  uint8_t model[6];
} NestcastHeader;

/**
 * How far a stream has arrived.
 */
typedef struct {
  /**
   * Bytes that the header still needs, at least; 0 if it is complete.
   */
  size_t missing_header_bytes;
  /**
   * Bit planes that are still missing, those below the finest step included; 0 for all of the stream.
   */
  float position;
  /**
   * Whether all of the stream has arrived: further bytes change nothing.
   */
  bool complete;
} NestcastProgress;

/**
 * A picture to write: memory of the caller that no other thread uses during a call. Planes must not overlap. Bytes
 * between the rows stay as they are.
 */
typedef struct {
  /**
   * Pixels from left to right, 1 to 16384.
   */
  uint32_t width;
  /**
   * Pixels from top to bottom, 1 to 16384.
   */
  uint32_t height;
  /**
   * One of NESTCAST_FORMAT_*, for YCbCr with bits of a sample.
   */
  uint32_t format;
  /**
   * The first sample of each plane that the format has.
   */
  uint8_t *planes[3];
  /**
   * Bytes from a row to the row below, for each plane; at least those of a row.
   */
  size_t strides[3];
} NestcastCanvas;

/**
 * A picture to read: samples in the caller's memory, of 8 bits unless the format says more, which no thread changes during
 * a call.
 */
typedef struct {
  /**
   * Pixels from left to right, 1 to 16384.
   */
  uint32_t width;
  /**
   * Pixels from top to bottom, 1 to 16384.
   */
  uint32_t height;
  /**
   * One of NESTCAST_FORMAT_*, for YCbCr with bits of a sample.
   */
  uint32_t format;
  /**
   * The first sample of each plane that the format has.
   */
  const uint8_t *planes[3];
  /**
   * Bytes from a row to the row below, for each plane; at least those of a row.
   */
  size_t strides[3];
} NestcastPicture;

/**
 * What to receive. Strings end with 0, are UTF-8, and need to stay only during nestcast_receiver_new.
 */
typedef struct {
  /**
   * The sender's host and UDP port, and the broadcast there if it has a name: "example.org:4433/cam1".
   */
  const char *address;
  /**
   * The SHA-256 of the sender's certificate, 64 hexadecimal digits; NULL if authorities certify it.
   */
  const char *fingerprint;
  /**
   * A PEM file of authorities that certify the sender; NULL if there is a fingerprint.
   */
  const char *authorities;
  /**
   * The token that the sender asks for, `token_length` bytes.
   */
  const uint8_t *token;
  /**
   * Bytes of the token; 0 for none.
   */
  size_t token_length;
  /**
   * The most bits a second to receive; 0 for no limit.
   */
  uint64_t max_bitrate;
  /**
   * Milliseconds by which pictures are delayed, at most 400: 0 shows them at once, and a negative number delays them by
   * as little as shows them evenly.
   */
  int32_t latency_ms;
  /**
   * Milliseconds without a usable frame for which the receiver connects again; 0 for one attempt.
   */
  uint32_t retry_ms;
  /**
   * Whether to wait for the first broadcast, and after each for the next one, however long that takes.
   */
  bool wait;
  /**
   * Threads that decode, at least 1.
   */
  uint32_t threads;
  /**
   * The most bits of a sample in which video is shown, 8 to 16; 0 for 8. A video that has fewer is shown in its own.
   */
  uint32_t max_bits;
} NestcastReceiverSettings;

/**
 * A picture to show now. It and its samples are valid until the callback returns.
 */
typedef struct {
  /**
   * The frame's number; the same as before if more of a picture that stays has arrived.
   */
  uint64_t id;
  /**
   * When it was captured, in microseconds since 1970; 0 if it is concealed.
   */
  uint64_t captured;
  /**
   * Microseconds from capture until now; 0 if it is concealed.
   */
  uint64_t latency;
  /**
   * Bytes that arrived in time.
   */
  size_t bytes;
  /**
   * Bytes of the whole frame.
   */
  uint64_t full;
  /**
   * Whether it stands for a frame that is missing.
   */
  bool concealed;
  /**
   * Its samples: a format of YCbCr for video, with the bits of a sample if they are more than 8, else grey or RGB.
   */
  NestcastPicture picture;
} NestcastShown;

/**
 * What a receiver calls, from threads of the library, one call after another: `show` any number of times, then `end` once.
 * No picture is shown while `show` runs, so it should be short. No exception may leave a callback.
 */
typedef struct {
  /**
   * Passed to each call; the library does not use it.
   */
  void *user;
  /**
   * Shows a picture. Return true to go on, and false to stop.
   */
  bool (*show)(void *user, const NestcastShown *shown);
  /**
   * Says that no further picture comes: NESTCAST_STATUS_OK at the end of the broadcast or after a stop, else why, with
   * one line in `message`, which is valid until it returns. May be NULL.
   */
  void (*end)(void *user, NestcastStatus status, const char *message);
} NestcastReceiverCallbacks;

/**
 * What a video is made for.
 */
typedef struct {
  /**
   * Pixels from left to right, 1 to 16384.
   */
  uint32_t width;
  /**
   * Pixels from top to bottom, 1 to 16384.
   */
  uint32_t height;
  /**
   * Frames in `rate_seconds`, for example 30000.
   */
  uint32_t rate_frames;
  /**
   * Seconds, for example 1001.
   */
  uint32_t rate_seconds;
  /**
   * The slowest receiver's bits a second; 0 for the usual ones of the size and rate, then `fastest` is 0 too.
   */
  uint64_t slowest;
  /**
   * The fastest receiver's bits a second.
   */
  uint64_t fastest;
  /**
   * Threads that may work during a call, at least 1; the bytes do not depend on them.
   */
  uint32_t threads;
} NestcastVideoSettings;

/**
 * One coded frame. Every prefix of at least `base` bytes decodes without lasting harm.
 */
typedef struct {
  /**
   * The bytes, which are valid until the next call with the encoder.
   */
  const uint8_t *bytes;
  /**
   * Their number.
   */
  size_t length;
  /**
   * Bytes that every receiver needs before any later frame.
   */
  size_t base;
  /**
   * Bytes from which later frames are predicted.
   */
  size_t enhancement_reference;
  /**
   * Whether a decoder can begin with this frame.
   */
  bool key;
} NestcastFrame;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Returns the version of this library, for example "0.1.0". It is never freed.
 */
const char *nestcast_version(void);

/**
 * Reads the header of a stream, or of any part from its beginning.
 *
 * # Safety
 * `data` refers to `length` bytes, and `header` to memory for a header.
 */
NestcastStatus nestcast_header_parse(const uint8_t *data, size_t length, NestcastHeader *header);

/**
 * Makes a decoder. `model` may be NULL; up to `threads` threads work during a call, and the picture does not depend on
 * them. Pictures of more than `max_pixels` are refused before memory is taken; 0 is 100 million. A decoder needs up to
 * 50 bytes a pixel.
 *
 * # Safety
 * `model` is NULL or a model that is not freed during the call; `decoder` refers to memory for a pointer.
 */
NestcastStatus nestcast_decoder_new(const NestcastModel *model,
                                    uint32_t threads,
                                    uint64_t max_pixels,
                                    NestcastDecoder **decoder);

/**
 * Takes the next bytes of the stream, any number of them. `progress` may be NULL. A refused stream stays refused until
 * nestcast_decoder_reset; the bytes before the fault still render.
 *
 * # Safety
 * `decoder` is a decoder that is not freed during the call; `data` refers to `length` bytes; `progress` is NULL or
 * refers to memory for its value.
 */
NestcastStatus nestcast_decoder_push(const NestcastDecoder *decoder,
                                     const uint8_t *data,
                                     size_t length,
                                     NestcastProgress *progress);

/**
 * Returns the stream's header, NESTCAST_STATUS_INCOMPLETE_HEADER before it has arrived.
 *
 * # Safety
 * `decoder` is a decoder that is not freed during the call; `header` refers to memory for a header.
 */
NestcastStatus nestcast_decoder_header(const NestcastDecoder *decoder, NestcastHeader *header);

/**
 * Renders the picture of the bytes that have arrived. The canvas has the header's size, and the colours of its format.
 * Without opacity it shows the picture over white.
 *
 * # Safety
 * `decoder` is a decoder that is not freed during the call; `canvas` refers to a canvas whose planes have the memory
 * that it says.
 */
NestcastStatus nestcast_decoder_render(const NestcastDecoder *decoder,
                                       const NestcastCanvas *canvas);

/**
 * Forgets the stream and keeps the memory: the next byte begins another stream.
 *
 * # Safety
 * `decoder` is a decoder that is not freed during the call.
 */
NestcastStatus nestcast_decoder_reset(const NestcastDecoder *decoder);

/**
 * Frees a decoder.
 *
 * # Safety
 * `decoder` is NULL, or was returned by nestcast_decoder_new and not freed before, and no call uses it.
 */
void nestcast_decoder_free(NestcastDecoder *decoder);

/**
 * Makes an encoder. `model` may be NULL; up to `threads` threads work during a call, and the bytes do not depend on
 * them.
 *
 * # Safety
 * `model` is NULL or a model that is not freed during the call; `encoder` refers to memory for a pointer.
 */
NestcastStatus nestcast_encoder_new(const NestcastModel *model,
                                    uint32_t threads,
                                    NestcastEncoder **encoder);

/**
 * Encodes a picture. `bytes` and `length` are set to the stream, which is valid until the next call with this encoder.
 * With `max_bytes` it stops early, but not inside the header; 0 is no limit.
 *
 * # Safety
 * `encoder` is an encoder that is not freed during the call; `picture` refers to a picture whose planes have the
 * memory that it says; `bytes` and `length` refer to memory for their values.
 */
NestcastStatus nestcast_encoder_encode(const NestcastEncoder *encoder,
                                       const NestcastPicture *picture,
                                       size_t max_bytes,
                                       const uint8_t **bytes,
                                       size_t *length);

/**
 * Frees an encoder, and the bytes that it lent.
 *
 * # Safety
 * `encoder` is NULL, or was returned by nestcast_encoder_new and not freed before, and no call uses it.
 */
void nestcast_encoder_free(NestcastEncoder *encoder);

/**
 * Reads a model's tables: the `tables.bin` of a model package.
 *
 * # Safety
 * `tables` refers to `length` bytes, and `model` to memory for a pointer.
 */
NestcastStatus nestcast_model_new(const uint8_t *tables, size_t length, NestcastModel **model);

/**
 * Frees a model. Encoders and decoders that use it go on.
 *
 * # Safety
 * `model` is NULL, or was returned by nestcast_model_new and not freed before, and no call uses it.
 */
void nestcast_model_free(NestcastModel *model);

/**
 * Begins to receive. Looking up the host, connecting and decoding happen on a thread of the library, which makes the
 * calls; what fails there is said by `end`.
 *
 * # Safety
 * `settings` refers to settings whose strings are NULL or end with 0; `callbacks` refers to functions that may be called
 * with their `user` from another thread until nestcast_receiver_free returns; `receiver` refers to memory for a pointer.
 */
NestcastStatus nestcast_receiver_new(const NestcastReceiverSettings *settings,
                                     const NestcastReceiverCallbacks *callbacks,
                                     NestcastReceiver **receiver);

/**
 * Stops a receiver, and returns at once. Pictures that have arrived may still be shown, and then `end` is called. Any thread
 * may stop it, while another is in nestcast_receiver_wait too, and so may a callback. A second stop does nothing. A look-up
 * of the host's name that has begun cannot be interrupted.
 *
 * # Safety
 * `receiver` is a receiver that is not freed during the call.
 */
NestcastStatus nestcast_receiver_stop(const NestcastReceiver *receiver);

/**
 * Waits until the reception is over and `end` has returned. Returns what `end` got; a second wait returns
 * NESTCAST_STATUS_OK. A look-up of the host's name that has begun cannot be interrupted. nestcast_receiver_stop ends the
 * wait from another thread.
 *
 * # Safety
 * `receiver` is a receiver that is not freed during the call.
 */
NestcastStatus nestcast_receiver_wait(const NestcastReceiver *receiver);

/**
 * Stops a receiver, and waits until its last callback has returned. A callback may free its own receiver: then nothing
 * waits, and `end` is still called. A look-up of the host's name that has begun cannot be interrupted: where the system
 * waits for a name server that does not answer, this waits too, as long as the system does, often for some seconds. An
 * address of digits needs no look-up.
 *
 * # Safety
 * `receiver` is NULL, or was returned by nestcast_receiver_new and not freed before, and no call uses it.
 */
void nestcast_receiver_free(NestcastReceiver *receiver);

/**
 * Returns one line that says why this thread's last failed call failed; empty if none has. It is valid until this
 * thread's next call that fails, and is never freed.
 */
const char *nestcast_last_message(void);

/**
 * Makes an encoder of video.
 *
 * # Safety
 * `settings` refers to settings; `encoder` refers to memory for a pointer.
 */
NestcastStatus nestcast_video_encoder_new(const NestcastVideoSettings *settings,
                                          NestcastVideoEncoder **encoder);

/**
 * Encodes the next frame, of a format of YCbCr with 8 to 16 bits a sample. Frames are exact to 11 bits. They do not say
 * how many the source has: tell those who decode them.
 *
 * # Safety
 * `encoder` is an encoder that is not freed during the call; `picture` refers to a picture whose planes have the
 * memory that it says; `frame` refers to memory for a frame.
 */
NestcastStatus nestcast_video_encoder_encode(const NestcastVideoEncoder *encoder,
                                             const NestcastPicture *picture,
                                             NestcastFrame *frame);

/**
 * Returns a frame of about `max_bytes` with which a new receiver can begin, in place of the last one.
 *
 * # Safety
 * `encoder` is an encoder that is not freed during the call; `frame` refers to memory for a frame.
 */
NestcastStatus nestcast_video_encoder_join(const NestcastVideoEncoder *encoder,
                                           size_t max_bytes,
                                           NestcastFrame *frame);

/**
 * Sets the slowest and the fastest receiver's bits a second, from the next frame on.
 *
 * # Safety
 * `encoder` is an encoder that is not freed during the call.
 */
NestcastStatus nestcast_video_encoder_set_bitrates(const NestcastVideoEncoder *encoder,
                                                   uint64_t slowest,
                                                   uint64_t fastest);

/**
 * Frees an encoder of video, and the bytes that it lent.
 *
 * # Safety
 * `encoder` is NULL, or was returned by nestcast_video_encoder_new and not freed before, and no call uses it.
 */
void nestcast_video_encoder_free(NestcastVideoEncoder *encoder);

/**
 * Makes a decoder of video. `key` and `residual` are the models of frames predicted from nothing and of residuals, or
 * both NULL. Frames of more than `max_pixels` are refused before memory is taken; 0 is 100 million. A decoder needs
 * about 69 bytes a pixel.
 *
 * # Safety
 * `key` and `residual` are NULL or models that are not freed during the call; `decoder` refers to memory for a pointer.
 */
NestcastStatus nestcast_video_decoder_new(const NestcastModel *key,
                                          const NestcastModel *residual,
                                          uint32_t width,
                                          uint32_t height,
                                          uint32_t threads,
                                          uint64_t max_pixels,
                                          NestcastVideoDecoder **decoder);

/**
 * Decodes the next frame, or a prefix of it. `arrived` may be NULL.
 *
 * # Safety
 * `decoder` is a decoder that is not freed during the call; `data` refers to `length` bytes; `arrived` is NULL or
 * refers to memory for its value.
 */
NestcastStatus nestcast_video_decoder_decode(const NestcastVideoDecoder *decoder,
                                             const uint8_t *data,
                                             size_t length,
                                             NestcastArrived *arrived);

/**
 * Renders the last frame, in a format of YCbCr with 8 to 16 bits a sample, whatever the source had; grey before the first
 * frame.
 *
 * # Safety
 * `decoder` is a decoder that is not freed during the call; `canvas` refers to a canvas whose planes have the memory
 * that it says.
 */
NestcastStatus nestcast_video_decoder_render(const NestcastVideoDecoder *decoder,
                                             const NestcastCanvas *canvas);

/**
 * Renders a picture for the `frames`th missing frame after the last one: the last one with its motion continued. If
 * nothing moves, `moved` is false and the canvas stays as it is. `moved` may be NULL.
 *
 * # Safety
 * As nestcast_video_decoder_render; `moved` is NULL or refers to memory for its value.
 */
NestcastStatus nestcast_video_decoder_conceal(const NestcastVideoDecoder *decoder,
                                              const NestcastCanvas *canvas,
                                              uint32_t frames,
                                              bool *moved);

/**
 * Frees a decoder of video.
 *
 * # Safety
 * `decoder` is NULL, or was returned by nestcast_video_decoder_new and not freed before, and no call uses it.
 */
void nestcast_video_decoder_free(NestcastVideoDecoder *decoder);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* NESTCAST_H */
