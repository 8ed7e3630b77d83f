/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOBEL_ELEMENT_RIG_H
#define SOBEL_ELEMENT_RIG_H

/* The element between two pads of the test: what goes in is the test's to say, what comes out is recorded in the
 * order in which it came. Downstream is as fast, as willing and as well equipped as the test makes it.
 *
 * One thread at a time pushes; the recording may be looked at by any. */

#include "elementtest.h"

#include <gst/video/video.h>

G_BEGIN_DECLS

/* Something that arrived downstream. */
typedef struct
{
  GstMiniObject *object; /* a buffer, an event, or a copy of a query */
  guint64 time_ns;       /* monotonic clock */
} RigItem;

typedef struct Rig Rig;
struct Rig
{
  GstElement *element;
  GstPad *src, *sink; /* the test's own: linked to the element's sink and source pad */
  GstBus *bus;
  GstVideoInfo info;    /* of the caps of the last rig_caps() */
  gboolean has_segment; /* sent since rig_start() */

  /* What downstream answers; set while nothing flows. */
  GstBufferPool *pool; /* offered in ALLOCATION queries; may be NULL */
  guint pool_size, pool_min, pool_max;
  gboolean answers_allocation; /* FALSE: the query fails */
  gboolean video_meta;         /* and says that it understands them */
  GstCaps *accepts;            /* NULL: anything */
  gboolean drops_buffers;      /* buffers are counted and let go at once */
  GstFlowReturn (*arrive) (Rig *rig, GstBuffer *buffer); /* instead of `flow`; may be NULL */
  void *user;

  /* What upstream answers to a LATENCY query. */
  gboolean live;
  GstClockTime min_latency, max_latency;

  gint flow;     /* atomic: what downstream says to a buffer */
  gint delay_us; /* atomic: how long it takes to say it */

  GMutex lock;
  GCond changed;
  GArray *items;   /* of RigItem */
  guint n_buffers; /* arrived */
  guint n_reconfigures, n_qos; /* events that arrived upstream */
};

/* `properties`: "name=value name=value", or "" */
Rig *rig_new (const char *properties);
/* Stops the element and checks that it is gone. NULL is fine. */
void rig_free (Rig *rig);

void rig_set (Rig *rig, const char *properties);

/* To PLAYING, then stream-start, caps and a time segment (the latter two not yet where `caps` is NULL). FALSE, without
 * a complaint, if any of it is refused. */
gboolean rig_start (Rig *rig, const char *caps);
/* Followed by a segment where there was none yet. */
gboolean rig_caps (Rig *rig, const char *caps);
gboolean rig_segment (Rig *rig);
gboolean rig_event (Rig *rig, GstEvent *event); /* takes it */
gboolean rig_eos (Rig *rig);
/* To NULL and back to what rig_new() made, but for the recording. */
void rig_stop (Rig *rig);
/* FLUSH_START and FLUSH_STOP from upstream, then a new segment. */
void rig_flush (Rig *rig);

GstFlowReturn rig_push (Rig *rig, GstBuffer *buffer); /* takes it */
/* `n` pictures, the first being number `first`; what the last push said. Stops at the first that is refused. */
GstFlowReturn rig_push_pictures (Rig *rig, guint first, guint n);

/* The element's answer to an ALLOCATION query for the pad's caps. (transfer full) */
GstQuery *rig_ask_for_allocation (Rig *rig, gboolean need_pool);
/* The pool that the element offers, active; complains if there is none. (transfer full) */
GstBufferPool *rig_take_offer (Rig *rig);
/* Picture number `n` in a buffer of the pool; NULL, after a complaint, if there is none within some seconds. */
GstBuffer *rig_picture_from (Rig *rig, GstBufferPool *pool, guint n);

/* ---- what came ---- */

/* Waits until `n` buffers came in all; complains after some seconds. */
gboolean rig_wait (Rig *rig, guint n);
guint rig_n_buffers (Rig *rig);
guint rig_n_items (Rig *rig);
/* Copies of the recording's entries; objects are the recording's. */
RigItem rig_item (Rig *rig, guint n);
/* The n-th buffer in the recording, with when it came (`time_ns` may be NULL). NULL if there are fewer. */
GstBuffer *rig_buffer (Rig *rig, guint n, guint64 *time_ns);
/* One letter an item: b buffer, s stream-start, c caps, g segment, t tag, a gap, u custom, d segment-done, e eos,
 * f flush-start, F flush-stop, D drain query, A allocation query, ? else. To be freed. */
gchar *rig_story (Rig *rig);
void rig_forget (Rig *rig);
/* What the element's source pad has, or NULL. (transfer full) */
GstCaps *rig_output_caps (Rig *rig);

/* ---- messages and counters ---- */

/* Takes the messages that the bus has, and says how many are of the type; `text` (may be NULL) is set to all that
 * the errors and warnings among them say, to be freed. */
guint rig_messages (Rig *rig, GstMessageType type, gchar **text);
/* Complains if there is an error or a warning on the bus. */
void rig_no_trouble (Rig *rig);
guint64 rig_stat (Rig *rig, const char *name);
gchar *rig_stat_string (Rig *rig, const char *name);

/* ---- pictures ---- */

/* Picture number `n` in the default layout: chance that is the same for the same number, PTS n * 40 ms, duration 40 ms,
 * offset n. */
GstBuffer *rig_picture (Rig *rig, guint n);
GstBuffer *rig_picture_of (const GstVideoInfo *info, guint n);

G_END_DECLS
#endif
