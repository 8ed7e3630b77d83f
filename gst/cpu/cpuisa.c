/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpuisa.h"

#include "cpudevice.h"

#include <stdatomic.h>

static _Atomic unsigned isa_mask = ~0u;

#if defined(HAVE_SSE41) || defined(HAVE_AVX2) || defined(HAVE_AVX512)

#include <cpuid.h>

/* Register sets that the operating system saves at a task switch (XCR0). */
static unsigned
saved_registers (void)
{
  unsigned low, high;

  /* xgetbv, as bytes: the mnemonic needs a compiler flag of its own. */
  __asm__ volatile (".byte 0x0f, 0x01, 0xd0" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

static unsigned
detect (void)
{
  enum { XMM_YMM = 0x06, XMM_YMM_ZMM = 0xe6 };
  unsigned a, b, c, d, saved = 0, found = 0;

  if (!__get_cpuid (1, &a, &b, &c, &d))
    return 0;
  if (c & bit_SSE4_1)
    found |= SOBEL_CPU_ISA_SSE41;
  if (c & bit_OSXSAVE)
    saved = saved_registers ();
  if (!(c & bit_AVX) || (saved & XMM_YMM) != XMM_YMM || !__get_cpuid_count (7, 0, &a, &b, &c, &d))
    return found;
  if (b & bit_AVX2)
    found |= SOBEL_CPU_ISA_AVX2;
  if ((saved & XMM_YMM_ZMM) == XMM_YMM_ZMM && (b & bit_AVX512F) && (b & bit_AVX512BW) && (b & bit_AVX512DQ) &&
      (b & bit_AVX512VL) && (c & bit_AVX512VBMI) && (c & bit_AVX512VNNI))
    found |= SOBEL_CPU_ISA_AVX512;
  return found;
}

#else

static unsigned
detect (void)
{
#if defined(HAVE_NEON)
  return SOBEL_CPU_ISA_NEON;
#else
  return 0;
#endif
}

#endif

unsigned
sobel_cpu_isa_available (void)
{
  unsigned built = 0;

#if defined(HAVE_SSE41)
  built |= SOBEL_CPU_ISA_SSE41;
#endif
#if defined(HAVE_AVX2)
  built |= SOBEL_CPU_ISA_AVX2;
#endif
#if defined(HAVE_AVX512)
  built |= SOBEL_CPU_ISA_AVX512;
#endif
#if defined(HAVE_NEON)
  built |= SOBEL_CPU_ISA_NEON;
#endif
  return built & detect ();
}

void
sobel_cpu_set_isa_mask (unsigned mask)
{
  atomic_store (&isa_mask, mask);
}

void
sobel_cpu_rows_init (SobelCpuRows *rows)
{
  const unsigned use = sobel_cpu_isa_available () & atomic_load (&isa_mask);

  sobel_cpu_rows_c (rows);
  (void) use;
#if defined(HAVE_SSE41)
  if (use & SOBEL_CPU_ISA_SSE41)
    sobel_cpu_rows_sse41 (rows);
#endif
#if defined(HAVE_AVX2)
  if (use & SOBEL_CPU_ISA_AVX2)
    sobel_cpu_rows_avx2 (rows);
#endif
#if defined(HAVE_AVX512)
  if (use & SOBEL_CPU_ISA_AVX512)
    sobel_cpu_rows_avx512 (rows);
#endif
#if defined(HAVE_NEON)
  if (use & SOBEL_CPU_ISA_NEON)
    sobel_cpu_rows_neon (rows);
#endif
}
