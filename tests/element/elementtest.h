/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOBEL_ELEMENT_TEST_H
#define SOBEL_ELEMENT_TEST_H

/* What every test program of the element needs: a runner that notices hangs and GLib criticals, the element's own
 * log lines, and the "GPU", which is a FakeDevice that each test shapes. */

#include "fakedevice.h"
#include "gstcudasobel.h"
#include "testutil.h"

G_BEGIN_DECLS

typedef struct
{
  const char *name;
  void (*run) (void);
} ETest;

typedef enum
{
  ET_ALONE,   /* no plugin but the element: nothing is scanned */
  ET_PLUGINS, /* stock elements are used */
} ETestNeeds;

/* Runs the tests (a NULL name ends them), or those named by the arguments; --long, or SOBEL_TEST_LONG in the
 * environment, makes et_long() true. The GPU is gone before each test and checked after it. */
int et_main (int argc, char **argv, ETestNeeds needs, const ETest *tests);

/* How much slower than usual this process is (sanitizers, valgrind): for time limits. At least 1. */
unsigned et_factor (void);
/* `n` repetitions, fewer where they are slow; at least 1. */
unsigned et_times (unsigned n);
gboolean et_long (void);

/* For failures that only a loop's variable can explain: shown with each. "" for none. */
void et_context (const char *format, ...) G_GNUC_PRINTF (1, 2);
/* As t_fail(), with the context. */
gboolean et_fail (const char *file, int line, const char *condition, const char *format, ...) G_GNUC_PRINTF (4, 5);

#undef T_CHECK
#define T_CHECK(condition, ...) ((condition) ? TRUE : et_fail (__FILE__, __LINE__, #condition, __VA_ARGS__))

/* ---- the element's log ---- */

/* Lines of the level that the element logged since the last call of et_log_clear (or the test's start) and that
 * contain `text` (NULL: all). */
unsigned et_log_count (GstDebugLevel level, const char *text);
void et_log_clear (void);

/* ---- the GPU ---- */

typedef struct
{
  SobelStatus refuse;   /* not OK: there is none, for this reason */
  const char *message;  /* with refuse */
  gboolean real;        /* the machine's own; what follows means nothing then */
  gboolean pixels;      /* computes real pictures, by a CPU device inside */
  FakeOptions options;  /* kind is always "cuda", and frames must lie in pinned memory where there is such */
  void (*made) (FakeDevice *fake); /* last words to a new device; may be NULL */
} EGpu;

/* From the next start of an element on. NULL: no GPU in this machine. */
void et_gpu_set (const EGpu *gpu);
/* One that finishes `delay_us` and up to `jitter_us` later, with real pictures. */
void et_gpu_fake_late (unsigned delay_us, unsigned jitter_us);
/* The same, for tests to which its exact time and its inside mean nothing: with SOBEL_TEST_GPU=real in the environment
 * it is the machine's own GPU. */
void et_gpu_late (unsigned delay_us, unsigned jitter_us);
gboolean et_gpu_is_real (void);

/* The n-th one made in this test, real ones not counted; NULL if there are fewer. */
FakeDevice *et_gpu (unsigned n);
unsigned et_gpu_made (void);
/* What the last one was asked for with. */
SobelCudaOptions et_gpu_options (void);

/* Checks that all are destroyed, that none was misused and that no memory of theirs is left; forgets them. */
void et_gpu_check (void);

G_END_DECLS
#endif
