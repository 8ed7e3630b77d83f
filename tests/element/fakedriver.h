/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOBEL_TEST_FAKE_DRIVER_H
#define SOBEL_TEST_FAKE_DRIVER_H

/* A libcuda.so.1 without a GPU: enough for GStreamer's CUDA library to have contexts, streams and memory. Device memory
 * is host memory at addresses that crash whoever reads them without going through here. Nothing is asynchronous. */

#include <stdbool.h>
#include <stdint.h>

typedef struct FakeDriver
{
  unsigned gpus; /* to be set before anything is called; 2 */
  bool fails;    /* every call but those that free says CUDA_ERROR_LAUNCH_FAILED, as after a fault of the GPU */

  unsigned inits;
  unsigned contexts;       /* alive, primary ones included */
  unsigned contexts_made;
  unsigned allocations;    /* alive, of device memory */
  unsigned host_allocations;
  unsigned streams;
  unsigned copies_up, copies_down, copies_across; /* 2D copies so far */
  unsigned misuse;         /* no context, the wrong one, a dead one, memory that is none */
} FakeDriver;

/* Of the library that is loaded as libcuda.so.1. */
FakeDriver *fake_driver (void);

/* The host's address of a device address; NULL if that is none. */
void *fake_driver_host (void *device_address);

#endif
