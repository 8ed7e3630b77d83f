/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the frame ring itself costs a frame, with devices that cost nothing. By hand or with meson test --benchmark. */
#include "framering.h"
#include "testutil.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MAX_ROUNDS = 9 };

/* Every frame is done at once, or `frame_ns` after the one before it: as a GPU that is the bottleneck. */
typedef struct NoDevice
{
  SobelDevice device;
  uint64_t frame_ns;
  uint64_t free_at; /* the producer's */
  uint64_t due[SOBEL_RING_MAX_SLOTS];
} NoDevice;

static SobelStatus
no_configure (SobelDevice *device, const SobelConfig *config, unsigned n_slots, SobelError *error)
{
  return SOBEL_STATUS_OK;
}

static SobelStatus
no_submit (SobelDevice *device, unsigned slot, const SobelJob *job, SobelError *error)
{
  NoDevice *none = (NoDevice *) device;

  if (none->frame_ns > 0) {
    const uint64_t now = t_now_ns ();

    none->free_at = (none->free_at > now ? none->free_at : now) + none->frame_ns;
    none->due[slot] = none->free_at;
  }
  return SOBEL_STATUS_OK;
}

static SobelStatus
no_wait (SobelDevice *device, unsigned slot, uint64_t timeout_ns, SobelError *error)
{
  NoDevice *none = (NoDevice *) device;

  while (none->frame_ns > 0 && t_now_ns () < none->due[slot])
    ;
  return SOBEL_STATUS_OK;
}

static void
no_timing (SobelDevice *device, unsigned slot, SobelTiming *timing)
{
}

static bool
no_destroy (SobelDevice *device)
{
  return true;
}

static const SobelDeviceOps no_ops = { .kind = "none",
                                       .configure = no_configure,
                                       .submit = no_submit,
                                       .wait = no_wait,
                                       .timing = no_timing,
                                       .destroy = no_destroy };

typedef struct Run
{
  SobelRing *ring;
  unsigned n;
} Run;

static void
push (SobelRing *ring)
{
  SobelFrame *frame;

  if (sobel_ring_begin (ring, &frame) == SOBEL_STATUS_OK) {
    frame->has_work = true;
    sobel_ring_submit (ring, frame);
  }
}

static void
pull (SobelRing *ring)
{
  SobelFrame *frame;

  if (sobel_ring_next (ring, &frame) == SOBEL_STATUS_OK)
    sobel_ring_release (ring, frame);
}

static void *
consume (void *data)
{
  const Run *run = data;
  unsigned i;

  for (i = 0; i < run->n; i++)
    pull (run->ring);
  return NULL;
}

static double
one_thread (Run *run)
{
  const uint64_t start = t_now_ns ();
  unsigned i;

  for (i = 0; i < run->n; i++) {
    push (run->ring);
    pull (run->ring);
  }
  return (double) (t_now_ns () - start) / run->n;
}

static double
two_threads (Run *run)
{
  const uint64_t start = t_now_ns ();
  pthread_t thread;
  unsigned i;

  pthread_create (&thread, NULL, consume, run);
  for (i = 0; i < run->n; i++)
    push (run->ring);
  pthread_join (thread, NULL);
  return (double) (t_now_ns () - start) / run->n;
}

/* Of all threads: what the wall clock says depends on what else the machine does. */
static uint64_t
cpu_ns (void)
{
  struct timespec t;

  clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &t);
  return (uint64_t) t.tv_sec * 1000000000u + (uint64_t) t.tv_nsec;
}

static int
by_size (const void *a, const void *b)
{
  const double x = *(const double *) a, y = *(const double *) b;

  return x < y ? -1 : x > y;
}

static void
measure (const char *what, double (*run_once) (Run *), unsigned n_slots, uint64_t frame_ns, unsigned n)
{
  static const SobelConfig config = { .width = 1, .height = 1 };
  NoDevice none = { .device.ops = &no_ops, .frame_ns = frame_ns };
  Run run = { .n = n };
  double ns[MAX_ROUNDS];
  uint64_t cpu;
  unsigned i;

  run.ring = sobel_ring_new (&(SobelRingOptions) { .device = &none.device, .give_up_ns = 5000000000u });
  if (!run.ring || sobel_ring_configure (run.ring, &config, n_slots, NULL) != SOBEL_STATUS_OK)
    return;
  run_once (&run); /* warm */
  cpu = cpu_ns ();
  for (i = 0; i < MAX_ROUNDS; i++)
    ns[i] = run_once (&run);
  cpu = cpu_ns () - cpu;
  qsort (ns, MAX_ROUNDS, sizeof ns[0], by_size);
  printf ("%-42s %2u slots  %7.0f ns a frame (median; %.0f to %.0f), %.0f ns of processor time\n", what, n_slots,
          ns[MAX_ROUNDS / 2], ns[0], ns[MAX_ROUNDS - 1], (double) cpu / MAX_ROUNDS / n);
  sobel_ring_free (run.ring);
}

int
main (void)
{
  measure ("one thread", one_thread, 4, 0, 200000);
  measure ("producer and consumer, no work", two_threads, 4, 0, 50000);
  measure ("producer and consumer, no work", two_threads, 16, 0, 50000);
  measure ("producer and consumer, device takes 50 us", two_threads, 1, 50000, 4000);
  measure ("producer and consumer, device takes 50 us", two_threads, 2, 50000, 4000);
  measure ("producer and consumer, device takes 50 us", two_threads, 4, 50000, 4000);
  return 0;
}
