/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOBEL_CUDA_FASTCOPY_CUH
#define SOBEL_CUDA_FASTCOPY_CUH

/* Copies of rows of pixels to a warp's ring of slots in shared memory, some rows ahead of their use. A way of copying
 * has
 *   SPACE   bytes that it needs behind the ring's slots, a multiple of 16
 *   origin  bytes to add to the start of every row
 *   start   begins the copy of a row (with `origin` added) to a slot; no lane may still read what was there
 *   end     after each row, whether it was begun or left out
 *   wait    until the slot's row has come, and every lane knows it; PENDING rows behind it may be on their way. Slots
 *           are waited for in turn, from 0 on
 * All of it by the whole warp; rows and slots are the same in all lanes. */

#include <stdint.h>

/* Compute capability 9.0 and a compiler that knows what that can do. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900 && __CUDACC_VER_MAJOR__ >= 12
#define SOBEL_HAS_BULK_COPIES 1
#else
#define SOBEL_HAS_BULK_COPIES 0
#endif

static __device__ __forceinline__ uint32_t
sobel_shared_address (const void *p)
{
  return (uint32_t) __cvta_generic_to_shared (p);
}

/* ---- by every lane -------------------------------------------------------------------------------- */

template <int BYTES>
static __device__ __forceinline__ void
sobel_copy_ahead (uint8_t *to, const uint8_t *from)
{
#if __CUDA_ARCH__ >= 800
  const uint32_t at = sobel_shared_address (to);

  if (BYTES == 16)
    asm volatile ("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(at), "l"(from) : "memory");
  else
    asm volatile ("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at), "l"(from) : "memory");
#else
  if (BYTES == 16)
    *reinterpret_cast<uint4 *> (to) = __ldg (reinterpret_cast<const uint4 *> (from));
  else
    *reinterpret_cast<uint32_t *> (to) = __ldg (reinterpret_cast<const uint32_t *> (from));
#endif
}

/* Each lane copies vectors of its own; rows are groups of copies. */
struct SobelLaneCopies {
  enum { SPACE = 0 };

  template <class P>
  __device__ __forceinline__
  SobelLaneCopies (const P &, uint8_t *, unsigned, unsigned)
  {
  }

  __device__ __forceinline__ int64_t
  origin () const
  {
    return 0;
  }

  template <class P>
  __device__ __forceinline__ void
  start (const P &pixels, unsigned lane, const uint8_t *row, uint8_t *ring, unsigned slot) const
  {
    pixels.fetch (lane, row, ring + slot * P::SLOT);
  }

  __device__ __forceinline__ void
  end () const
  {
#if __CUDA_ARCH__ >= 800
    asm volatile ("cp.async.commit_group;" ::: "memory");
#endif
  }

  template <int PENDING>
  __device__ __forceinline__ void
  wait (unsigned) const
  {
#if __CUDA_ARCH__ >= 800
    asm volatile ("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
#endif
    __syncwarp ();
  }
};

/* ---- by one lane ---------------------------------------------------------------------------------- */

#if SOBEL_HAS_BULK_COPIES

/* A row is one copy, started by one lane: for planes of bytes a tenth fewer instructions than with the lanes' copies,
 * before each of which the compiler puts three idle ones. A barrier for each slot counts the bytes that have come, and
 * changes its parity with every row. The slots hold a row as it is in memory, and may only be read. */
struct SobelBulkCopies {
  enum { SPACE = 64 }; /* eight slots at most */

  uint32_t barriers; /* shared address */
  uint32_t parity;   /* of the barriers of this round of the ring */
  uint32_t last_slot;
  int32_t from;      /* bytes from a row's start */
  uint32_t to, size; /* bytes: from a slot's start; of a copy */

  template <class P>
  __device__ __forceinline__
  SobelBulkCopies (const P &pixels, uint8_t *ring, unsigned slots, unsigned lane)
      : barriers (sobel_shared_address (ring + slots * P::SLOT)), parity (0), last_slot (slots - 1)
  {
    const uint32_t left = pixels.first > 0 ? 16 : 0, right = pixels.goes_on ? 16 : 0;

    from = (int32_t) (pixels.first - left);
    to = P::MARGIN - left;
    size = left + ((uint32_t) pixels.bytes + 15) / 16 * 16 + right;
    if (lane == 0) {
      for (unsigned i = 0; i < slots; i++)
        asm volatile ("mbarrier.init.shared.b64 [%0], 1;" ::"r"(barriers + 8 * i) : "memory");
      asm volatile ("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncwarp ();
  }

  __device__ __forceinline__ int64_t
  origin () const
  {
    return from;
  }

  template <class P>
  __device__ __forceinline__ void
  start (const P &, unsigned, const uint8_t *row, uint8_t *ring, unsigned slot) const
  {
    const uint32_t barrier = barriers + 8 * slot;
    uint32_t chosen;

    asm volatile ("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p; }" : "=r"(chosen));
    if (chosen) {
      asm volatile ("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(barrier), "r"(size) : "memory");
      asm volatile ("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                        sobel_shared_address (ring + slot * P::SLOT) + to),
                    "l"(row), "r"(size), "r"(barrier)
                    : "memory");
    }
  }

  __device__ __forceinline__ void
  end () const
  {
  }

  template <int PENDING>
  __device__ __forceinline__ void
  wait (unsigned slot)
  {
    uint32_t done;

    do
      asm volatile ("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                    : "=r"(done)
                    : "r"(barriers + 8 * slot), "r"(parity)
                    : "memory");
    while (!done);
    if (slot == last_slot)
      parity ^= 1;
    __syncwarp ();
  }
};

#endif

#endif
