/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOBEL_CUDA_SLOT_H
#define SOBEL_CUDA_SLOT_H

#include "cudacontext.h"
#include "cudakernels.h"

#include <stdatomic.h>

enum { SOBEL_CUDA_MAX_SLOTS = 16, SOBEL_CUDA_MAX_STREAMS = 16, SOBEL_CUDA_MAX_STRIPS = 64 };

/* Moments of a slot's frame, or of its first strip. */
enum { SOBEL_CUDA_START, SOBEL_CUDA_UPLOADED, SOBEL_CUDA_COMPUTED, SOBEL_CUDA_STAGED, SOBEL_CUDA_N_MOMENTS };

/* Where a picture's planes lie in a block of device memory. */
typedef struct SobelCudaLayout
{
  size_t offset[SOBEL_MAX_PLANES]; /* bytes */
  size_t pitch[SOBEL_MAX_PLANES];  /* bytes; a multiple of 16 */
  size_t row_bytes[SOBEL_MAX_PLANES];
  int32_t rows[SOBEL_MAX_PLANES]; /* of samples, one more than the picture needs where an interlaced one may have it */
  size_t size;                    /* bytes in all */
} SobelCudaLayout;

typedef struct SobelCudaSlot
{
  uint8_t *memory;          /* input's planes, then the output's */
  size_t memory_size;       /* bytes, at least what the layouts need */
  unsigned stream;          /* number of its stream */
  uint8_t *passes;          /* memory between passes of the ladder's kernels; from the first frame on that needs it */
  size_t passes_size;
  SobelCudaScratch scratch; /* the same, laid out */
  cudaEvent_t done;
  cudaEvent_t moment[SOBEL_CUDA_N_MOMENTS];
  bool pending;      /* a frame was submitted and not yet found done */
  bool queued;       /* passed on before it is done; see SobelCudaQueue */
  uint32_t queue_serial; /* of the frame in work, if it is queued */
  bool timed;        /* the moments were recorded */
  float timed_share; /* part of the frame between them: 1, or that of a strip */
} SobelCudaSlot;

/* Frames that are passed on while queued. The producer's but for the atomics; `end` also the consumer's. */
typedef struct SobelCudaQueue
{
  bool ready;     /* there are events */
  uint32_t next;  /* frames so far */
  cudaEvent_t end[2 * SOBEL_CUDA_MAX_SLOTS]; /* of frame n: n % (2 * n_slots) */
  cudaEvent_t measure[2];
  bool is_measured;      /* the frame in the producer's hands */
  atomic_bool measuring; /* both events are recorded, and not yet looked at */
  atomic_ullong kernel_ns;
} SobelCudaQueue;

/* What is measured rather than known; the values are in cudadevice.c. Tests and benchmarks may change them. */
typedef struct SobelCudaTuning
{
  unsigned spin_ns;     /* look for the end of a frame this long before sleeping */
  unsigned sleep_ns;    /* between looks after that */
  unsigned timed_every; /* moments are recorded for one frame in so many; the others are said to take as long */
  size_t strip_bytes;   /* a frame of n * n times that is cut into n strips */
} SobelCudaTuning;

extern SobelCudaTuning sobel_cuda_tuning;

typedef struct SobelCudaDevice
{
  SobelDevice base;
  SobelCudaContext *context;
  unsigned wanted_streams, wanted_strips; /* as SobelCudaOptions has them */

  SobelConfig config;
  SobelCudaLayout in_layout, out_layout;
  SobelCudaSlot slot[SOBEL_CUDA_MAX_SLOTS];
  unsigned n_slots; /* 0: not configured */
  cudaStream_t stream[SOBEL_CUDA_MAX_STREAMS];
  unsigned n_streams;
  cudaStream_t strip_kernels, strip_downloads; /* the later stages of frames that are cut; no frame's own stream */
  cudaEvent_t order;    /* for one stream to wait for another */
  cudaStream_t clock;   /* does nothing but record when a frame's upload could begin */
  cudaEvent_t uploaded; /* the end of the upload before that of the next timed frame */
  unsigned frames;      /* submitted */
  atomic_uint in_flight;
  SobelTiming timing; /* of the last frame whose moments were recorded; the waiting thread's */
  SobelCudaQueue queue;

  atomic_ullong bytes;         /* of device memory */
  _Atomic (const char *) kernel; /* of the last frame */
} SobelCudaDevice;

/* log2 of the luma rows to a row of the plane. */
unsigned sobel_cuda_plane_h_sub (const SobelFormat *format, unsigned plane);

/* In the context. Streams, events and memory for `n_slots`, where possible those of the last configuration; on failure
 * nothing is left. */
SobelStatus sobel_cuda_slots_init (SobelCudaDevice *device, const SobelConfig *config, unsigned n_slots,
                                   SobelError *error);
/* In the context, or after its death: frees what there is. */
void sobel_cuda_slots_clear (SobelCudaDevice *device);

/* In the context: no slot's work is still to be done. */
bool sobel_cuda_slots_are_idle (const SobelCudaDevice *device);

/* Lays out slot->scratch for the ladder's kernels; allocates at the first call. */
SobelStatus sobel_cuda_slot_scratch (SobelCudaDevice *device, SobelCudaSlot *slot, SobelError *error);

/* Frames that are passed on while queued: begin and end around the frame's work, in the context. */
SobelStatus sobel_cuda_queue_begin (SobelCudaDevice *device, SobelCudaSlot *slot, cudaStream_t stream,
                                    SobelError *error);
SobelStatus sobel_cuda_queue_end (SobelCudaDevice *device, SobelCudaSlot *slot, cudaStream_t stream,
                                  SobelError *error);
/* Waits until the frame n_slots - 1 before the slot's own is done; with one slot, until its own is. */
SobelStatus sobel_cuda_queue_wait (SobelCudaDevice *device, SobelCudaSlot *slot, uint64_t timeout_ns,
                                   SobelError *error);
/* In the context: nothing that was passed on is still to be done. */
bool sobel_cuda_queue_is_idle (SobelCudaDevice *device);
/* In the context: waits until that is so. */
SobelStatus sobel_cuda_queue_settle (SobelCudaDevice *device, SobelError *error);
void sobel_cuda_queue_clear (SobelCudaDevice *device);

/* In the context: queues a frame. */
SobelStatus sobel_cuda_submit (SobelCudaDevice *device, SobelCudaSlot *slot, const SobelJob *job, SobelError *error);

#endif
