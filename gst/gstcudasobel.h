/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef GST_CUDA_SOBEL_H
#define GST_CUDA_SOBEL_H

#include "gstsobelbackend.h"
#include "gstsobelcopier.h"
#include "gstsobelcuda.h"
#include "gstsobelframe.h"
#include "gstsobelpool.h"
#include "gstsobelstats.h"

#include "core/framering.h"

#include <gst/video/gstvideofilter.h>

G_BEGIN_DECLS

#define GST_TYPE_CUDA_SOBEL (gst_cuda_sobel_get_type ())
G_DECLARE_FINAL_TYPE (GstCudaSobel, gst_cuda_sobel, GST, CUDA_SOBEL, GstVideoFilter)

GST_ELEMENT_REGISTER_DECLARE (cudasobel);

/* The settings that may change while playing; a frame takes one copy. */
typedef struct
{
  SobelParams params;
  gboolean bypass;
} GstSobelSettings;

/* What the element holds for a frame in flight, beside the ring's SobelFrame. */
typedef struct
{
  GstBuffer *in;  /* kept while its memory is read in place, else NULL */
  GstBuffer *out; /* what will be pushed, or what a buffer of downstream's pool is filled from */
  GstSobelFrameMap in_map, out_map;
  gboolean uploads;       /* mapping `in` started an upload of what the host wrote into GPU memory */
  gboolean asynchronous;  /* the device transfers by itself: both buffers stay until it is done */
  gboolean fills_neutral; /* once done, the neutral planes of `out` hold neutral */
  GstClockTime arrival;   /* ns, monotonic clock */
} GstSobelInFlight;

struct _GstCudaSobel
{
  GstVideoFilter parent;

  /* Under the object lock. */
  GstSobelSettings settings;
  GstSobelBackendOptions options; /* as set; a copy acts from `start` on */
  guint ring_size;
  GstSobelActiveBackend active_backend;
  gchar *fallback_reason; /* why a GPU that might have been used is not */
  GstClockTime reported_delay; /* what the last LATENCY message was about */

  /* Held by whoever stops all flow, empties the ring and lets it flow again: a second one that opened meanwhile would
   * leave the first one waiting for the output task. Taken after the sink pad's stream lock, never by the task. */
  GRecMutex gate;

  /* Under ring_lock: whether `ring` exists. The streaming thread and the output task need no lock for it:
   * they run between its making in `start` and its end in `stop`. So do serialized events and queries of any thread,
   * for `start` and `stop` hold the sink pad's stream lock. */
  GMutex ring_lock;
  SobelRing *ring;
  guint max_slots; /* ring-size in force */

  GstSobelAllocator *allocator;
  GstSobelCopier *copier; /* from `start` to `stop` */
  GstSobelInFlight in_flight[SOBEL_RING_MAX_SLOTS];

  /* Of the streaming thread; the output task sees them change only while the ring is drained. */
  SobelConfig config;
  gboolean configured;            /* the ring, `config` and the pools are those of the pads' caps */
  GstBufferPool *own_pool;        /* of output frames; active */
  GstBuffer *kept[SOBEL_RING_MAX_SLOTS]; /* of own_pool, for a slot's next frame; of whoever has the slot */
  gint n_kept;                    /* atomic: slots that keep one, all where the device needs pinned memory, or none */
  gint64 next_growth;             /* us, monotonic clock: own_pool is not asked for more before; the output task's */
  gboolean told_short;            /* that own_pool could not grow; likewise */
  GstBufferPool *downstream_pool; /* active, or NULL; changed under the object lock */
  GstBufferPool *staging_pool;    /* for input that lies elsewhere; active, or NULL until needed */
  gboolean downstream_video_meta; /* downstream understands GstVideoMeta */
  gboolean discont;               /* frames were dropped before the next one */
  gboolean output_discont;        /* likewise, of the output task */
  GstClockTime arrival;           /* of the buffer in hand */
  gint64 next_warning;            /* us, monotonic clock: no warning about bad buffers before that; object lock */

  GstSobelCuda cuda;

  /* What downstream said, under the object lock. Frames that were in flight already may be taken after one was refused:
   * that does not undo what upstream has not been told. */
  struct
  {
    GstFlowReturn last, untold;
  } flow;
  GstPadActivateModeFunction src_activate_mode; /* the base class's */
  GstPadEventFunction sink_event;               /* likewise */

  GstSobelStats stats;
};

/* ---- gstcudasobel.c: the class ---- */

/* What the element's vfuncs build upon. */
GstBaseTransformClass *gst_cuda_sobel_base_class (void);

/* ---- gstsobelstart.c: devices and the ring ---- */

/* The element's vfuncs. */
gboolean gst_cuda_sobel_start (GstBaseTransform *trans);
gboolean gst_cuda_sobel_stop (GstBaseTransform *trans);
/* For tests: how long a device may take for a frame, ns, for elements started from now on; 0: as documented. */
void gst_cuda_sobel_set_give_up (guint64 ns);

/* ---- gstsobelevents.c: events and queries ---- */

/* The element's vfuncs. */
gboolean gst_cuda_sobel_sink_event (GstBaseTransform *trans, GstEvent *event);
gboolean gst_cuda_sobel_query (GstBaseTransform *trans, GstPadDirection direction, GstQuery *query);
/* The sink pad's function, around the base class's own (self->sink_event). */
GstFlowReturn gst_cuda_sobel_sink_event_full (GstPad *pad, GstObject *parent, GstEvent *event);
/* After new caps: tells the pipeline where the ring adds another delay to its maximum latency than before. */
void gst_cuda_sobel_report_delay (GstCudaSobel *self);

/* ---- gstsobelconfigure.c: what new caps need ---- */

/* Makes the ring ready for self->config and output of `outcaps`, with as many slots as memory allows; FALSE after an
 * element error. The ring is empty. */
gboolean gst_cuda_sobel_configure (GstCudaSobel *self, GstCaps *outcaps);
/* The first frame came that must be copied into pinned memory: makes room for as many as there are slots, with fewer
 * slots if need be. Drains. FLUSHING, or ERROR after an element error. */
GstFlowReturn gst_cuda_sobel_configure_staging (GstCudaSobel *self);
/* The GPU in use is given up for the CPU, for `reason`; the ring has been told. */
void gst_cuda_sobel_use_cpu (GstCudaSobel *self, const gchar *reason);
/* Notifies where that is a change. */
void gst_cuda_sobel_set_active_backend (GstCudaSobel *self, GstSobelActiveBackend active);
void gst_cuda_sobel_set_fallback_reason (GstCudaSobel *self, const gchar *reason);

/* ---- gstsobelallocation.c: where buffers come from ---- */

/* The element's vfuncs. */
gboolean gst_cuda_sobel_decide_allocation (GstBaseTransform *trans, GstQuery *query);
gboolean gst_cuda_sobel_propose_allocation (GstBaseTransform *trans, GstQuery *decide_query, GstQuery *query);
/* Takes `pool`, which may be NULL; the one before is closed. */
void gst_cuda_sobel_set_downstream_pool (GstCudaSobel *self, GstBufferPool *pool);

/* ---- gstsobelgate.c: whether frames flow ---- */

/* Everything waits no longer (TRUE), or may wait again (FALSE). */
void gst_cuda_sobel_gate_set_flushing (GstCudaSobel *self, gboolean flushing);
/* With the gate locked: the output task is out of its function when this returns, and stays out until it is opened. */
void gst_cuda_sobel_gate_hold (GstCudaSobel *self);
/* With the gate locked: lets frames flow and starts the output task, unless another thread has shut the source pad. */
void gst_cuda_sobel_gate_open (GstCudaSobel *self);
/* The source pad's task lives as long as the pad is active. */
gboolean gst_cuda_sobel_gate_activate_mode (GstPad *pad, GstObject *parent, GstPadMode mode, gboolean active);

/* ---- gstsobelbuffers.c: the element's own buffers in host memory ---- */

/* Deactivates and clears *pool; NULL is fine. */
void gst_cuda_sobel_close_pool (GstBufferPool **pool);
/* self->own_pool, from which `n_kept` slots keep a buffer each. FALSE: no memory; the allocator may say why. */
gboolean gst_cuda_sobel_open_outputs (GstCudaSobel *self, GstCaps *caps, guint n_kept);
void gst_cuda_sobel_close_outputs (GstCudaSobel *self);
/* What the slot keeps, else one more of self->own_pool. */
GstFlowReturn gst_cuda_sobel_take_output (GstCudaSobel *self, guint slot, GstBuffer **buffer);
/* The slot keeps one for its next frame (TRUE), if it must keep any. Cannot fail after one was given back to the
 * pool. */
gboolean gst_cuda_sobel_keep_output (GstCudaSobel *self, guint slot);
/* Output task: the slot's output may go downstream, as the slot has another one, or needs none. */
gboolean gst_cuda_sobel_output_may_leave (GstCudaSobel *self, guint slot);
/* An output in memory of no special kind, or NULL. (transfer full) */
GstBuffer *gst_cuda_sobel_plain_output (GstCudaSobel *self);
/* A frame is dropped for want of `what`: counts it, and posts an element error. */
void gst_cuda_sobel_no_memory (GstCudaSobel *self, const gchar *what);
/* self->staging_pool with a buffer for each slot. FALSE: no memory, for the reason in `error`. */
gboolean gst_cuda_sobel_open_staging (GstCudaSobel *self, SobelError *error);
/* Whether the device in use cannot take the input where it is. */
gboolean gst_cuda_sobel_needs_staging (GstCudaSobel *self, GstBuffer *buffer);
/* Copies `planes` of the mapped input into memory that the device can read by itself, and lets go of the original. */
GstFlowReturn gst_cuda_sobel_stage_input (GstCudaSobel *self, GstSobelInFlight *f, guint planes);

/* ---- gstsobelstream.c: frames on their way in ---- */

/* Streaming thread; takes `buffer`. Returns what downstream said last, also of earlier frames. */
GstFlowReturn gst_cuda_sobel_stream_submit (GstCudaSobel *self, GstBuffer *buffer);
/* Waits until every frame in flight is downstream; returns at once when flushing. */
void gst_cuda_sobel_stream_drain (GstCudaSobel *self);
/* The same where a new negotiation may be asked for, as a link does: NOT_LINKED, said before that, counts no longer. */
void gst_cuda_sobel_stream_drain_for_link (GstCudaSobel *self);
/* Something is wrong with a buffer: counts it, warns at most once a second. Any thread. Takes `reason`. */
void gst_cuda_sobel_stream_drop (GstCudaSobel *self, gchar *reason);

/* Of both halves of the way. Lets go of all that a frame holds; its slot keeps an output again. */
void gst_cuda_sobel_stream_release (GstCudaSobel *self, GstSobelInFlight *f);
void gst_cuda_sobel_stream_copy_metadata (GstCudaSobel *self, GstBuffer *from, GstBuffer *to);
/* Frames are missing before this one. Takes and returns the buffer. */
GstBuffer *gst_cuda_sobel_stream_mark_discont (GstBuffer *buffer);

/* ---- gstsobeloutput.c: frames on their way out ---- */

/* The output task's function: one frame. */
void gst_cuda_sobel_output_loop (gpointer pad);
/* What downstream said: the worst of what upstream has not been told, else the last. */
GstFlowReturn gst_cuda_sobel_output_flow (GstCudaSobel *self);
/* The same, for the streaming thread to return: upstream has been told. */
GstFlowReturn gst_cuda_sobel_output_tell_flow (GstCudaSobel *self);
/* That counts no longer; OK: whatever it was. */
void gst_cuda_sobel_output_forget_flow (GstCudaSobel *self, GstFlowReturn flow);
/* Callbacks for the ring; `user` is the element. */
void gst_cuda_sobel_output_ring_options (GstCudaSobel *self, SobelRingOptions *options);

G_END_DECLS
#endif
