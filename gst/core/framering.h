/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOBEL_FRAMERING_H
#define SOBEL_FRAMERING_H

#include "sobeldevice.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A ring of frames in flight between one producer thread, which fills and submits them, and one consumer
 * thread, which takes them out in the same order as soon as each one's own work is done.
 *
 *   FREE -begin-> FILLING -submit-> IN FLIGHT -next-> LEAVING -release-> FREE
 *
 * A frame never waits for a later one. When the device fails or does not finish a frame in time, the frames
 * in flight are computed again by the fallback device, each at its own turn, and so is all that follows;
 * without a fallback each frame carries the error. */
typedef struct SobelRing SobelRing;

enum { SOBEL_RING_MAX_SLOTS = 16 };

/* One slot's frame. `job`, `has_work` and `user` are the producer's to fill between begin and submit;
 * the rest is filled by the ring and is the consumer's to read between next and release. */
typedef struct SobelFrame
{
  unsigned slot;
  SobelJob job;
  bool has_work; /* false: passes through in its turn, no device sees it */
  void *user;

  SobelStatus status; /* OK: job.out is complete. Else why this frame has no pixels */
  SobelError error;
  bool recomputed;    /* by the fallback, after the device was lost */
  SobelTiming timing;
  uint64_t submitted_ns, finished_ns; /* monotonic clock */
} SobelFrame;

typedef struct SobelRingOptions
{
  SobelDevice *device;   /* owned by the ring from now on; not NULL */
  SobelDevice *fallback; /* owned by the ring from now on; NULL: a lost device is an error of each frame */
  uint64_t give_up_ns;   /* a frame that takes longer means that the device is lost */

  /* All called without any lock of the ring held; any may be NULL but `replace_output`, if there is a fallback. */

  /* Consumer thread, before a frame is computed again: point frame->job.out at memory that the lost
   * device cannot write, and keep the old memory of both images away from reuse (sobel_device_keep on `lost`).
   * A failure becomes the frame's status. Also called, with `lost`, for frames that cannot be computed again
   * (without fallback, or with DEVICE input): then only the keeping counts and the result is ignored. */
  SobelStatus (*replace_output) (void *user, SobelFrame *frame, SobelDevice *lost, SobelError *error);
  /* A frame in flight was flushed away; give back what frame->user holds. Its memory is no longer written. */
  void (*discard) (void *user, SobelFrame *frame);
  /* The device was just lost; called once, by the thread that saw it. */
  void (*device_lost) (void *user, const SobelError *error);
  void *user;
} SobelRingOptions;

/* A ring without slots, and not flushing: configure it before the first begin. NULL when memory is short (the
 * devices are then destroyed). */
SobelRing *sobel_ring_new (const SobelRingOptions *options);

/* NULL is fine. No thread may be inside another call. Waits for frames in flight (give_up_ns at most),
 * discards them and destroys the devices. */
void sobel_ring_free (SobelRing *ring);

/* (Re)configures the device in use, and the fallback with one slot each. The ring must be empty, else INVALID. On
 * NO_MEMORY try again with fewer slots. */
SobelStatus sobel_ring_configure (SobelRing *ring, const SobelConfig *config, unsigned n_slots, SobelError *error);

/* Goes over to the fallback for good, as if the device had been lost while idle; INVALID without one or with
 * frames in flight. For devices that turn out too small for the next configuration. */
SobelStatus sobel_ring_use_fallback (SobelRing *ring);

/* Producer. Waits for a free slot; FLUSHING while the ring is flushing. Frame fields are zeroed but `slot`. */
SobelStatus sobel_ring_begin (SobelRing *ring, SobelFrame **frame);
/* Producer, instead of submit. */
void sobel_ring_cancel (SobelRing *ring, SobelFrame *frame);
/* Producer. Never fails: what goes wrong travels with the frame, to its own turn. While flushing the
 * frame is submitted all the same, and discarded by clear. */
void sobel_ring_submit (SobelRing *ring, SobelFrame *frame);

/* Consumer. Waits until the oldest frame is finished. FLUSHING while the ring is flushing. */
SobelStatus sobel_ring_next (SobelRing *ring, SobelFrame **frame);
/* Consumer. The slot is free again. */
void sobel_ring_release (SobelRing *ring, SobelFrame *frame);

/* Waits until every frame has left (released), OK; FLUSHING when the ring is or becomes flushing. */
SobelStatus sobel_ring_drain (SobelRing *ring);

/* true: wakes every waiting call, which return FLUSHING, as later ones do. false: back to work. */
void sobel_ring_set_flushing (SobelRing *ring, bool flushing);

/* While flushing, and with no thread between next and release or begin and submit: waits for the device (give_up_ns
 * at most) and discards every frame. */
void sobel_ring_clear (SobelRing *ring);

/* The device that computes new frames now: the first one, or the fallback. */
SobelDevice *sobel_ring_device (SobelRing *ring);
bool sobel_ring_is_fallback (SobelRing *ring);

/* Frames submitted and not released. */
unsigned sobel_ring_in_flight (SobelRing *ring);
unsigned sobel_ring_n_slots (SobelRing *ring);

#ifdef __cplusplus
}
#endif
#endif
