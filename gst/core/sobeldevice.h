/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOBEL_DEVICE_H
#define SOBEL_DEVICE_H

#include "sobelrecipe.h"
#include "sobelstatus.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The seam between the frame ring and one kind of hardware: CPU, CUDA, or the fake of the tests.
 *
 * Threads: `configure` and `destroy` are called by one thread while no frame is in flight (a lost device
 * excepted). `submit` is called by one thread at a time and `wait` by another at the same time, never
 * both for one slot. `host_alloc`, `info` and a block's `free` may be called by any thread at any time.
 *
 * A lost device is asked for little more. After a failed submit: `wait` for the frames before it, which is OK for
 * those that are finished. After a failed or given-up wait: no other wait, but submits by a thread that does not know
 * yet, at most one for each slot but the one that was waited for. Each may fail, and is then the last, or be swallowed.
 * Then only `host_alloc` (by threads that still use its pools), `info` and `destroy`. */

/* Memory that the device transfers from and to without the host's help. Ordinary process memory: it stays
 * readable whatever happens to the device, and outlives the device. */
typedef struct SobelHostBlock SobelHostBlock;
struct SobelHostBlock
{
  void *data;  /* page-aligned */
  size_t size; /* bytes */
  void (*free) (SobelHostBlock *block); /* any thread; also after the device is gone */
};

/* One frame's work. Copied by `submit`; the memory that the images point to stays the caller's, and stays
 * untouched until `wait` has returned something other than TIMEOUT for the slot. */
typedef struct SobelJob
{
  /* HOST: memory of host_alloc, where the device has that, and no other: what is not pinned a driver copies inside
   * submit, which then waits for the hardware. */
  SobelImage in, out;
  SobelRecipe recipe;
  SobelKernel kernel;
  bool interlaced;    /* two fields, each a picture of its own */
  bool neutral_ready; /* planes of `out` that are NEUTRAL already hold that: leave them alone */
  void *in_stream;    /* DEVICE images: CUstream that the producer's work is queued on, or NULL */
  void *out_stream;   /* DEVICE images: CUstream that the consumer's work will be queued on, or NULL */

  /* For two DEVICE images with a stream each: wait is OK once the work is queued, before it is done. What is put on
   * either stream after submit comes behind this work, as this comes behind what is on them already, so that the
   * images may be passed on at once to those who keep to the streams. A failure shows at a later submit or wait. */
  bool queued;
} SobelJob;

/* Where a finished frame's time went; 0 where the device has no such stage or did not measure it. */
typedef struct SobelTiming
{
  uint64_t upload_ns, kernel_ns, download_ns;
} SobelTiming;

typedef struct SobelDeviceInfo
{
  char name[128];        /* of the hardware, for people: "NVIDIA H200 (0)", "CPU, AVX2, 2 threads" */
  const char *kernel;    /* static name of what computed the last frame: "fused", "avx2" */
  uint64_t device_bytes; /* memory held on the device */
  void *context;         /* CUcontext that DEVICE images must belong to; NULL: the device takes none */
  int ordinal;           /* number of that GPU; unused without a context */
} SobelDeviceInfo;

typedef struct SobelDevice SobelDevice;

typedef struct SobelDeviceOps
{
  const char *kind; /* "cpu", "cuda", "fake" */

  /* Makes room for `n_slots` frames of `config` (1 to 16), in place of what was configured before.
   * No frame is in flight. On failure nothing stays configured, and another configure may follow. */
  SobelStatus (*configure) (SobelDevice *device, const SobelConfig *config, unsigned n_slots, SobelError *error);

  /* NULL: frames may lie in any host memory, and are done when submit returns. */
  SobelStatus (*host_alloc) (SobelDevice *device, size_t size, SobelHostBlock **block, SobelError *error);

  /* Starts the work of a slot that has none. Never waits for the hardware; a device that computes with the
   * calling thread is done when it returns. On failure the device is lost. */
  SobelStatus (*submit) (SobelDevice *device, unsigned slot, const SobelJob *job, SobelError *error);

  /* Waits for the slot's work, `timeout_ns` at most (0: just looks). OK, once for each submit: the output may be
   * read. TIMEOUT: not yet.
   * Anything else: the device is lost, and may still read and write the memory of every job in flight. */
  SobelStatus (*wait) (SobelDevice *device, unsigned slot, uint64_t timeout_ns, SobelError *error);

  /* Of the slot's last finished frame; after `wait` returned OK and before the slot's next `submit`. */
  void (*timing) (SobelDevice *device, unsigned slot, SobelTiming *timing);

  void (*info) (SobelDevice *device, SobelDeviceInfo *info);

  /* Frees the device and returns true; returns false, at once and with nothing freed, while the hardware
   * may still write to the memory of a job. */
  bool (*destroy) (SobelDevice *device);
} SobelDeviceOps;

typedef struct SobelKeep SobelKeep;

/* First member of every device. */
struct SobelDevice
{
  const SobelDeviceOps *ops;
  SobelKeep *keeps;  /* what sobel_device_keep() was given */
  SobelDevice *next; /* in the list of devices that could not be destroyed yet */
};

/* Whether the device works beside the thread that calls submit. It then has host memory of its own to work on. */
static inline bool
sobel_device_is_asynchronous (const SobelDevice *device)
{
  return device->ops->host_alloc != NULL;
}

/* Hands `object` to the device: release (object) is called once the device is destroyed, that is, when its hardware
 * can no longer write to anything, by the thread that destroyed it. For buffers of frames that were in flight when
 * it was lost. Any thread, but not any more once the device is being destroyed. Takes ownership also where memory is
 * short (the object then leaks rather than be reused too early). */
void sobel_device_keep (SobelDevice *device, void *object, void (*release) (void *object));

/* Destroys *device and clears the pointer; NULL is fine. Never waits: a device whose hardware is still busy is set
 * aside, with what it keeps, and destroyed by a later call of this (for any device) or of sobel_device_reap(). */
void sobel_device_destroy (SobelDevice **device);

/* Tries again to destroy the devices set aside; returns how many remain. */
unsigned sobel_device_reap (void);

#ifdef __cplusplus
}
#endif
#endif
