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
 * without a fallback each frame carries the error.
 *
 * A lost device may still read and write the memory of the frames that it was given. It lives on, set aside,
 * until the ring is freed (sobel_device_destroy() then waits for its hardware without blocking anybody), and
 * the memory of those frames is handed to it: every one of them passes through `replace_output` before it
 * comes out of next or is given to discard, so that what is left in frame->user may be reused at once. */
typedef struct SobelRing SobelRing;

enum { SOBEL_RING_MAX_SLOTS = 16 };

/* One slot's frame. `job`, `has_work` and `user` are the producer's to fill between begin and submit;
 * the rest is filled by the ring and is the consumer's to read between next and release. The device keeps
 * a copy of `job`: after the loss of a device, `replace_output` changes the frame's alone. */
typedef struct SobelFrame
{
  unsigned slot;
  SobelJob job;
  bool has_work; /* false: passes through in its turn, no device sees it */
  void *user;

  SobelStatus status; /* OK: job.out is complete. Else why this frame has no pixels */
  SobelError error;
  bool recomputed;    /* by the fallback, because the device was lost while the frame was in flight */
  SobelTiming timing; /* of the device that computed the frame */
  /* Monotonic clock: when submit was called, and when next saw that the frame was finished (later than its
   * work was done, where the consumer was busy elsewhere). */
  uint64_t submitted_ns, finished_ns;
} SobelFrame;

typedef struct SobelRingOptions
{
  SobelDevice *device;   /* owned by the ring from now on; not NULL */
  SobelDevice *fallback; /* owned by the ring from now on; NULL: a lost device is an error of each frame */
  /* A frame that takes longer means that the device is lost. Counted from when it could start: its submission, or
   * the moment when the frame before it was seen finished. */
  uint64_t give_up_ns;

  /* All called without any lock of the ring held; any may be NULL but `replace_output`, if there is a fallback.
   * They may call nothing of the ring but the questions at the end of this file. */

  /* Producer thread, inside submit: the frame's work was started, or done by a device that computes with the calling
   * thread (or it failed or was held back, which the frame says when its turn comes), and no consumer can see the
   * frame yet. For letting go early of what the work needed: an input in host memory may go if sobel_ring_device() is
   * one that computes with the calling thread, and was already so at begin. */
  void (*submitted) (void *user, SobelFrame *frame);
  /* The thread in next or clear, for each frame that `lost` was given and did not finish:
   *  - hand the references to the memory of both images, which frame->user holds, to sobel_device_keep (lost, ...).
   *    An input that is still needed for computing it again stays readable that way;
   *  - where frame->status is OK, the frame is going to be computed again: point frame->job.out at other host
   *    memory, whatever memory it was in (and put its reference into frame->user). A failure becomes the frame's
   *    status. The new memory is like the producer's for a new frame: set job.neutral_ready to what holds for it;
   *  - else (no fallback, input in DEVICE memory, or the frame is about to be discarded) only the keeping counts,
   *    and the result is ignored. frame->error says why.
   * Also called with OK for a frame that was never given to the device, if its output is DEVICE memory. May be called
   * a second time for a frame, with the fallback as `lost`, if that fails too. */
  SobelStatus (*replace_output) (void *user, SobelFrame *frame, SobelDevice *lost, SobelError *error);
  /* A frame in flight was flushed away; give back what frame->user holds. Its memory is no longer written. Called
   * in order. */
  void (*discard) (void *user, SobelFrame *frame);
  /* The device was just lost; called once, by the thread in next or clear that saw it, before the first frame is
   * recovered. `error` lives as long as the ring. The fallback's own failure is told by the frames' status alone. */
  void (*device_lost) (void *user, const SobelError *error);
  void *user;
} SobelRingOptions;

/* A ring without slots, and not flushing: configure it before the first begin. NULL when memory is short (the
 * devices are then destroyed). */
SobelRing *sobel_ring_new (const SobelRingOptions *options);

/* NULL is fine. No thread may be inside another call. Waits for frames in flight (give_up_ns at most),
 * discards them and destroys the devices. Frames between begin and submit or next and release are not discarded: what
 * they hold is their holder's. */
void sobel_ring_free (SobelRing *ring);

/* (Re)configures the device in use for `n_slots` (1 to 16), and the fallback for one: the ring gives the fallback
 * one frame at a time, whatever the number of slots. After a loss, only the fallback is configured; DEVICE_LOST
 * where there is none, or it failed too. The ring must be empty, else INVALID. After a failure the ring has no
 * slots; on NO_MEMORY try again with fewer. */
SobelStatus sobel_ring_configure (SobelRing *ring, const SobelConfig *config, unsigned n_slots, SobelError *error);

/* Goes over to the fallback for good, as if the device had been lost while idle, but without a call of device_lost;
 * INVALID without a fallback or with frames in flight. For devices that turn out too small for the next
 * configuration; configure comes next. */
SobelStatus sobel_ring_use_fallback (SobelRing *ring);

/* Works with `device` from now on, and destroys the one before. The ring must be empty and its device not lost, else
 * INVALID, and `device` stays the caller's. configure comes next. No question may be asked meanwhile. */
SobelStatus sobel_ring_replace_device (SobelRing *ring, SobelDevice *device);

/* Producer. Waits for a free slot; FLUSHING while the ring is flushing, INVALID while it has no slots or a frame is
 * being filled already. Frame fields are zeroed but `slot`. */
SobelStatus sobel_ring_begin (SobelRing *ring, SobelFrame **frame);
/* Producer, instead of submit. */
void sobel_ring_cancel (SobelRing *ring, SobelFrame *frame);
/* Producer. Never fails: what goes wrong travels with the frame, to its own turn. While flushing the
 * frame is submitted all the same, and discarded by clear. After a loss the fallback computes the frame in here. */
void sobel_ring_submit (SobelRing *ring, SobelFrame *frame);

/* Consumer. Waits until the oldest frame is finished. FLUSHING while the ring is flushing (a wait inside the device
 * ends within 20 ms); the frame then stays in flight. INVALID for a second consumer. Several frames may be held at a
 * time. */
SobelStatus sobel_ring_next (SobelRing *ring, SobelFrame **frame);
/* Consumer. The slot is free again. */
void sobel_ring_release (SobelRing *ring, SobelFrame *frame);

/* Waits until every frame has left (released), OK; FLUSHING when the ring is or becomes flushing. Any thread but the
 * consumer's. */
SobelStatus sobel_ring_drain (SobelRing *ring);

/* true: wakes every waiting call, which return FLUSHING, as later ones do. false: back to work. */
void sobel_ring_set_flushing (SobelRing *ring, bool flushing);

/* While flushing, and with no thread between next and release or begin and submit: waits for the device (give_up_ns
 * at most) and discards every frame. */
void sobel_ring_clear (SobelRing *ring);

/* The device that computes new frames now: the first one, or the fallback. Both live as long as the ring, unless
 * replaced. */
SobelDevice *sobel_ring_device (SobelRing *ring);
bool sobel_ring_is_fallback (SobelRing *ring);

/* Frames submitted and not released. */
unsigned sobel_ring_in_flight (SobelRing *ring);
unsigned sobel_ring_n_slots (SobelRing *ring);

#ifdef __cplusplus
}
#endif
#endif
