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

/* Words of host memory that the GPU writes at the end of each slot's frame. To look there costs nothing, where a query
 * of an event takes the driver's lock, which the submitting thread wants too. Events tell of failures, and serve alone
 * where the GPU cannot write values in stream order. */
typedef struct SobelCudaSignals
{
  SobelHostBlock *block;
  volatile uint32_t *word; /* a cache line a slot; NULL: not possible here */
  CUdeviceptr on_device;   /* the same; 0: the GPU would not */
} SobelCudaSignals;

typedef struct SobelCudaSlot
{
  uint8_t *memory;          /* input's planes, then the output's */
  size_t memory_size;       /* bytes, at least what the layouts need */
  unsigned stream;          /* number of its stream */
  uint8_t *passes;          /* memory between passes of the textbook kernels; from the first frame on that needs it */
  size_t passes_size;
  SobelCudaScratch scratch; /* the same, laid out */
  cudaEvent_t done;
  cudaEvent_t moment[SOBEL_CUDA_N_MOMENTS];
  uint32_t serial;   /* of the frame in work, that its signal will have */
  bool pending;      /* a frame was submitted and not yet found done */
  bool queued;       /* its wait is over at once */
  bool timed;        /* the moments were recorded */
  float timed_share; /* part of the frame between them: 1, or that of a strip */
} SobelCudaSlot;

/* What is measured rather than known; the values are in cudadevice.c. Tests and benchmarks may change them. */
typedef struct SobelCudaTuning
{
  unsigned spin_ns;     /* look for the end of a frame this long before sleeping */
  unsigned sleep_ns;    /* between looks after that */
  bool no_signals;      /* events only */
  unsigned timed_every; /* frames; moments are recorded for one in so many */
  size_t strip_bytes;   /* a frame of at least twice that, the larger way, is cut into strips of about so much */
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
  cudaEvent_t order; /* for one stream to wait for another */
  unsigned frames;   /* submitted */
  atomic_uint in_flight;
  SobelCudaSignals signals;

  atomic_ullong bytes;         /* of device memory */
  _Atomic (const char *) kernel; /* of the last frame */
} SobelCudaDevice;

/* In the context. Streams, events and memory for `n_slots`, where possible those of the last configuration; on failure
 * nothing is left. */
SobelStatus sobel_cuda_slots_init (SobelCudaDevice *device, const SobelConfig *config, unsigned n_slots,
                                   SobelError *error);
/* In the context, or after its death: frees what there is. */
void sobel_cuda_slots_clear (SobelCudaDevice *device);

/* Lays out slot->scratch for the textbook kernels; allocates at the first call. */
SobelStatus sobel_cuda_slot_scratch (SobelCudaDevice *device, SobelCudaSlot *slot, SobelError *error);

/* In the context. Without the possibility all the same OK. */
SobelStatus sobel_cuda_signals_init (SobelCudaDevice *device, SobelError *error);
void sobel_cuda_signals_clear (SobelCudaDevice *device);
/* Queues the end of the slot's frame. */
SobelStatus sobel_cuda_signal_queue (SobelCudaDevice *device, SobelCudaSlot *slot, cudaStream_t stream,
                                     SobelError *error);
/* Waits for it as SobelDeviceOps.wait does. */
SobelStatus sobel_cuda_signal_wait (SobelCudaDevice *device, SobelCudaSlot *slot, uint64_t timeout_ns,
                                    SobelError *error);

/* In the context: queues a frame. */
SobelStatus sobel_cuda_submit (SobelCudaDevice *device, SobelCudaSlot *slot, const SobelJob *job, SobelError *error);

#endif
