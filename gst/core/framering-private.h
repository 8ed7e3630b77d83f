/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOBEL_FRAMERING_PRIVATE_H
#define SOBEL_FRAMERING_PRIVATE_H

/* Inside of the frame ring: framering.c is the queue of slots, frameslot.c what happens to the frame of one slot
 * between its submission and its turn. */

#include "framering.h"

#include <pthread.h>
#include <stdatomic.h>

typedef enum SlotState
{
  SLOT_FREE,
  SLOT_FILLING,    /* between begin and submit */
  SLOT_SUBMITTING, /* inside submit */
  SLOT_IN_FLIGHT,
  SLOT_LEAVING, /* between next and release */
} SlotState;

/* Who may still read and write a frame's memory, and what is left to do for it. Set by the producer in submit, then
 * changed by the thread that takes the frame out. */
typedef enum SlotWork
{
  WORK_SETTLED,         /* nobody; nothing, `status` is final */
  WORK_ON_DEVICE,       /* the device; wait for it */
  WORK_REFUSED,         /* the device, maybe, though its submit failed; compute again */
  WORK_HELD,            /* nobody: the device failed before it was given the frame; compute at the frame's turn */
  WORK_FALLBACK_FAILED, /* the fallback, maybe; nothing, `status` is final */
} SlotWork;

typedef struct Slot
{
  SobelFrame frame; /* first: a frame's address is its slot's */
  SlotState state;  /* under the lock */
  SlotWork work;
} Slot;

struct SobelRing
{
  SobelRingOptions options;
  uint64_t last_finished_ns; /* of the frame before; whoever takes frames out */

  /* Guards what follows; never held while a device or a callback is called. */
  pthread_mutex_t lock;
  pthread_cond_t freed;  /* the slot that begin waits for is free */
  pthread_cond_t filled; /* a frame was submitted */
  pthread_cond_t left;   /* the last frame was released */
  pthread_cond_t quiet;  /* nobody is inside next or submit */
  bool producer_waits, consumer_waits;
  atomic_bool frame_comes; /* a producer is inside submit with work that the device does by itself; for looking */
  unsigned drains_waiting, clears_waiting;

  Slot slot[SOBEL_RING_MAX_SLOTS];
  unsigned n_slots;    /* 0: not configured */
  uint64_t submitted;  /* frames so far; frame n lives in slot n % n_slots */
  uint64_t taken;      /* frames that next or clear took out */
  unsigned in_flight;  /* submitted and not released */
  bool inside_next;    /* a consumer is inside next */
  bool inside_submit;  /* a producer is inside submit */
  bool refused;        /* a submit failed: nothing more goes to the device. Its frame's turn makes it lost */
  bool lost;           /* the device is; `loss` says why. Never undone */
  atomic_bool flushing; /* written under the lock, also read without it between two slices */
  SobelError loss;

  /* Serialises the calls into the fallback, which producer and consumer both use. Held across them, and the lock is
   * never taken inside it. */
  pthread_mutex_t fallback_lock;
  SobelError fallback_error; /* its status is not OK: the fallback failed too */
};

/* Without a deadline, for sobel_slot_settle(). */
#define SOBEL_NO_DEADLINE UINT64_MAX

/* Producer, no lock held: hands the frame to whoever computes it now, and sets slot->work. */
void sobel_slot_start (SobelRing *ring, Slot *slot, bool to_device, bool to_fallback);

/* Consumer, no lock held: waits for the frame and makes it WORK_SETTLED. `deadline` is a time of the monotonic clock
 * by which the device must be done with a frame that nobody wants any more, or SOBEL_NO_DEADLINE for one that is to
 * come out. FLUSHING: the ring began to flush meanwhile (without a deadline only), and nothing has changed. */
SobelStatus sobel_slot_settle (SobelRing *ring, Slot *slot, uint64_t deadline);

#endif
