/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOBEL_BENCH_ENDS_H
#define SOBEL_BENCH_ENDS_H

/* The two ends of a benchmark pipeline: a source that costs nothing and a sink that believes nothing. */

#include <gst/base/base.h>
#include <gst/video/video.h>

G_BEGIN_DECLS

enum { BENCH_PICTURES = 16 };

/* What the sink does with a frame. */
typedef enum
{
  BENCH_READ_STAMP, /* maps it, checks its stamp, reads one word of every page */
  BENCH_READ_ALL,   /* also reads every byte */
  BENCH_READ_NONE,  /* does not map it */
} BenchRead;

/* Where the sources of several pipelines wait for each other after their warm-up, so that what is measured is all of
 * them at once; one source passes it alone. */
typedef struct BenchGate
{
  GMutex lock;
  GCond opened;
  guint expected, arrived;
  gint64 open_us, cpu_us; /* when it opened: monotonic clock, and the process's time on processors */
} BenchGate;

/* The process's time on processors so far. */
gint64 bench_cpu_us (void);

/* Sends BENCH_PICTURES prepared pictures again and again, as new buffers around the same memory. They lie in the
 * pool that downstream proposes, or in memory of the source's own (`own-memory`), as a camera's would. Picture k
 * is black but for a white column, at bench_stamp_column (k): after the filter its edges tell which one it was. */
#define BENCH_TYPE_SRC (bench_src_get_type ())
G_DECLARE_FINAL_TYPE (BenchSrc, bench_src, BENCH, SRC, GstPushSrc)

struct _BenchSrc
{
  GstPushSrc parent;
  GstCaps *caps; /* fixed */
  gboolean own_memory;
  guint64 n_frames;     /* to send at most */
  guint64 n_warmup;     /* at least so many before the gate */
  gint64 warmup_us;     /* and for at least so long */
  gint64 measure_us;    /* > 0: the end of the stream comes so long after the gate */
  BenchGate *gate;
  guint64 n_before;     /* frames sent before the gate, once it was passed */
  gboolean passed;
  gdouble fps;          /* > 0: live, one frame each 1/fps s */
  gint64 *sent_us;      /* n_frames entries: when frame n went out, monotonic clock */
  guint64 next;
  GstVideoInfo info;
  GstBuffer *picture[BENCH_PICTURES];
};

#define BENCH_TYPE_SINK (bench_sink_get_type ())
G_DECLARE_FINAL_TYPE (BenchSink, bench_sink, BENCH, SINK, GstBaseSink)

struct _BenchSink
{
  GstBaseSink parent;
  BenchRead read;
  gboolean check;        /* the stamp is one of mode=edges */
  GstVideoInfo info;
  guint64 n_frames;      /* arrived */
  guint64 n_wrong;       /* with a stamp of another frame, or none */
  guint64 next_offset;   /* frames come in order */
  guint64 sum;           /* of what was read, so that it is not optimised away */
  gint64 *arrived_us;    /* like sent_us */
  guint64 max_frames;
};

/* Column of picture k's white line in a picture `width` wide. */
gint bench_stamp_column (guint k, gint width);

G_END_DECLS
#endif
