/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rig.h"

enum { WAIT_SECONDS = 20, FRAME_MS = 40 };

/* ---- recording ------------------------------------------------------------------------------------ */

/* Takes the object. */
static void
record (Rig *rig, GstMiniObject *object, gboolean is_buffer)
{
  const RigItem item = { object, t_now_ns () };

  g_mutex_lock (&rig->lock);
  if (is_buffer)
    rig->n_buffers++;
  if (is_buffer && rig->drops_buffers)
    gst_mini_object_unref (object);
  else
    g_array_append_val (rig->items, item);
  g_cond_broadcast (&rig->changed);
  g_mutex_unlock (&rig->lock);
}

static GstFlowReturn
sink_chain (GstPad *pad, GstObject *parent, GstBuffer *buffer)
{
  Rig *rig = gst_pad_get_element_private (pad);
  const gint delay = g_atomic_int_get (&rig->delay_us);
  GstFlowReturn (*const arrive) (Rig *, GstBuffer *) = g_atomic_pointer_get (&rig->arrive);
  GstFlowReturn flow = g_atomic_int_get (&rig->flow);

  if (delay > 0)
    g_usleep (delay);
  if (arrive)
    flow = arrive (rig, buffer);
  record (rig, GST_MINI_OBJECT_CAST (buffer), TRUE);
  return flow;
}

static gboolean
sink_event (GstPad *pad, GstObject *parent, GstEvent *event)
{
  record (gst_pad_get_element_private (pad), GST_MINI_OBJECT_CAST (event), FALSE);
  return TRUE;
}

static gboolean
answer_allocation (Rig *rig, GstQuery *query)
{
  if (!rig->answers_allocation)
    return FALSE;
  if (rig->video_meta)
    gst_query_add_allocation_meta (query, GST_VIDEO_META_API_TYPE, NULL);
  if (rig->pool)
    gst_query_add_allocation_pool (query, rig->pool, rig->pool_size, rig->pool_min, rig->pool_max);
  return TRUE;
}

/* Takes `caps`. */
static void
answer_caps (GstQuery *query, GstCaps *caps)
{
  GstCaps *filter;

  gst_query_parse_caps (query, &filter);
  if (filter) {
    GstCaps *both = gst_caps_intersect_full (filter, caps, GST_CAPS_INTERSECT_FIRST);
    gst_caps_unref (caps);
    caps = both;
  }
  gst_query_set_caps_result (query, caps);
  gst_caps_unref (caps);
}

static gboolean
sink_query (GstPad *pad, GstObject *parent, GstQuery *query)
{
  Rig *rig = gst_pad_get_element_private (pad);
  GstCaps *caps;

  if (GST_QUERY_IS_SERIALIZED (query))
    record (rig, GST_MINI_OBJECT_CAST (gst_query_copy (query)), FALSE);
  switch (GST_QUERY_TYPE (query)) {
    case GST_QUERY_ALLOCATION:
      return answer_allocation (rig, query);
    case GST_QUERY_DRAIN:
      return TRUE;
    case GST_QUERY_CAPS:
      answer_caps (query, rig->accepts ? gst_caps_ref (rig->accepts) : gst_caps_new_any ());
      return TRUE;
    case GST_QUERY_ACCEPT_CAPS:
      gst_query_parse_accept_caps (query, &caps);
      gst_query_set_accept_caps_result (query, !rig->accepts || gst_caps_can_intersect (caps, rig->accepts));
      return TRUE;
    default:
      return FALSE;
  }
}

static gboolean
src_query (GstPad *pad, GstObject *parent, GstQuery *query)
{
  Rig *rig = gst_pad_get_element_private (pad);
  GstCaps *caps;

  switch (GST_QUERY_TYPE (query)) {
    case GST_QUERY_LATENCY:
      gst_query_set_latency (query, rig->live, rig->min_latency, rig->max_latency);
      return TRUE;
    case GST_QUERY_CAPS:
      /* GStreamer's own answer for a pad without a template uses the pad's caps without a reference, while this pad may
       * be given new ones. */
      caps = gst_pad_get_current_caps (pad);
      answer_caps (query, caps ? caps : gst_caps_new_any ());
      return TRUE;
    default:
      return gst_pad_query_default (pad, parent, query);
  }
}

static gboolean
src_event (GstPad *pad, GstObject *parent, GstEvent *event)
{
  Rig *rig = gst_pad_get_element_private (pad);

  g_mutex_lock (&rig->lock);
  rig->n_reconfigures += GST_EVENT_TYPE (event) == GST_EVENT_RECONFIGURE;
  rig->n_qos += GST_EVENT_TYPE (event) == GST_EVENT_QOS;
  g_cond_broadcast (&rig->changed);
  g_mutex_unlock (&rig->lock);
  gst_event_unref (event);
  return TRUE;
}

/* ---- life ----------------------------------------------------------------------------------------- */

void
rig_set (Rig *rig, const char *properties)
{
  gchar **setting = g_strsplit_set (properties, " ", -1);
  guint i;

  for (i = 0; setting[i]; i++) {
    gchar **pair = g_strsplit (setting[i], "=", 2);

    if (pair[0] && *pair[0])
      gst_util_set_object_arg (G_OBJECT (rig->element), pair[0], pair[1]);
    g_strfreev (pair);
  }
  g_strfreev (setting);
}

static void
connect_pads (Rig *rig)
{
  GstPad *sink = gst_element_get_static_pad (rig->element, "sink");
  GstPad *src = gst_element_get_static_pad (rig->element, "src");

  rig->src = gst_object_ref_sink (gst_pad_new ("test-src", GST_PAD_SRC));
  rig->sink = gst_object_ref_sink (gst_pad_new ("test-sink", GST_PAD_SINK));
  gst_pad_set_element_private (rig->src, rig);
  gst_pad_set_element_private (rig->sink, rig);
  gst_pad_set_query_function (rig->src, src_query);
  gst_pad_set_event_function (rig->src, src_event);
  gst_pad_set_chain_function (rig->sink, sink_chain);
  gst_pad_set_event_function (rig->sink, sink_event);
  gst_pad_set_query_function (rig->sink, sink_query);
  T_CHECK (gst_pad_link (rig->src, sink) == GST_PAD_LINK_OK, "the sink pad cannot be linked");
  T_CHECK (gst_pad_link (src, rig->sink) == GST_PAD_LINK_OK, "the source pad cannot be linked");
  gst_object_unref (sink);
  gst_object_unref (src);
}

Rig *
rig_new (const char *properties)
{
  Rig *rig = g_new0 (Rig, 1);

  g_mutex_init (&rig->lock);
  g_cond_init (&rig->changed);
  rig->items = g_array_new (FALSE, FALSE, sizeof (RigItem));
  rig->answers_allocation = rig->video_meta = TRUE;
  rig->max_latency = GST_CLOCK_TIME_NONE;
  rig->element = gst_object_ref_sink (gst_element_factory_make ("cudasobel", NULL));
  rig->bus = gst_bus_new ();
  gst_element_set_bus (rig->element, rig->bus);
  connect_pads (rig);
  rig_set (rig, properties);
  return rig;
}

gboolean
rig_start (Rig *rig, const char *caps)
{
  gst_pad_set_active (rig->sink, TRUE);
  gst_pad_set_active (rig->src, TRUE);
  if (gst_element_set_state (rig->element, GST_STATE_PLAYING) != GST_STATE_CHANGE_SUCCESS)
    return FALSE;
  gst_pad_push_event (rig->src, gst_event_new_stream_start ("test"));
  rig->has_segment = FALSE;
  return !caps || rig_caps (rig, caps);
}

void
rig_stop (Rig *rig)
{
  gst_pad_set_active (rig->src, FALSE);
  T_CHECK (gst_element_set_state (rig->element, GST_STATE_NULL) == GST_STATE_CHANGE_SUCCESS, "does not stop");
  gst_pad_set_active (rig->sink, FALSE);
}

void
rig_free (Rig *rig)
{
  if (!rig)
    return;
  rig_stop (rig);
  rig_forget (rig);
  gst_bus_set_flushing (rig->bus, TRUE);
  gst_object_unref (rig->bus);
  T_CHECK (GST_OBJECT_REFCOUNT_VALUE (rig->element) == 1, "somebody still holds the element (%d references)",
           GST_OBJECT_REFCOUNT_VALUE (rig->element));
  gst_object_unref (rig->element);
  gst_object_unref (rig->src);
  gst_object_unref (rig->sink);
  gst_clear_object (&rig->pool);
  gst_clear_caps (&rig->accepts);
  g_array_unref (rig->items);
  g_mutex_clear (&rig->lock);
  g_cond_clear (&rig->changed);
  g_free (rig);
}

/* ---- going in ------------------------------------------------------------------------------------- */

gboolean
rig_event (Rig *rig, GstEvent *event)
{
  return gst_pad_push_event (rig->src, event);
}

/* The event's own result does not tell: a sticky event counts as sent. */
gboolean
rig_caps (Rig *rig, const char *text)
{
  GstCaps *caps = gst_caps_from_string (text), *current;
  GstPad *sink = gst_pad_get_peer (rig->src);
  gboolean accepted;

  if (!T_CHECK (caps != NULL, "no caps: %s", text))
    return FALSE;
  if (!gst_video_info_from_caps (&rig->info, caps))
    gst_video_info_init (&rig->info);
  rig_event (rig, gst_event_new_caps (caps));
  current = gst_pad_get_current_caps (sink);
  accepted = current && gst_caps_is_equal (current, caps);
  gst_clear_caps (&current);
  gst_caps_unref (caps);
  gst_object_unref (sink);
  if (!rig->has_segment)
    rig_segment (rig);
  return accepted;
}

gboolean
rig_segment (Rig *rig)
{
  GstSegment segment;

  gst_segment_init (&segment, GST_FORMAT_TIME);
  rig->has_segment = TRUE;
  return rig_event (rig, gst_event_new_segment (&segment));
}

gboolean
rig_eos (Rig *rig)
{
  return rig_event (rig, gst_event_new_eos ());
}

void
rig_flush (Rig *rig)
{
  rig_event (rig, gst_event_new_flush_start ());
  rig_event (rig, gst_event_new_flush_stop (TRUE));
  rig_segment (rig);
}

GstFlowReturn
rig_push (Rig *rig, GstBuffer *buffer)
{
  return gst_pad_push (rig->src, buffer);
}

GstBuffer *
rig_picture_of (const GstVideoInfo *info, guint n)
{
  GstBuffer *buffer = gst_buffer_new_allocate (NULL, info->size, NULL);
  TRandom random = t_random (1, n);
  GstMapInfo map;

  gst_buffer_map (buffer, &map, GST_MAP_WRITE);
  t_random_fill (&random, map.data, map.size);
  gst_buffer_unmap (buffer, &map);
  GST_BUFFER_PTS (buffer) = n * FRAME_MS * GST_MSECOND;
  GST_BUFFER_DURATION (buffer) = FRAME_MS * GST_MSECOND;
  GST_BUFFER_OFFSET (buffer) = n;
  GST_BUFFER_OFFSET_END (buffer) = n + 1;
  return buffer;
}

GstBuffer *
rig_picture (Rig *rig, guint n)
{
  return rig_picture_of (&rig->info, n);
}

GstFlowReturn
rig_push_pictures (Rig *rig, guint first, guint n)
{
  GstFlowReturn flow = GST_FLOW_OK;
  guint i;

  for (i = 0; i < n && flow == GST_FLOW_OK; i++)
    flow = rig_push (rig, rig_picture (rig, first + i));
  return flow;
}

GstQuery *
rig_ask_for_allocation (Rig *rig, gboolean need_pool)
{
  GstCaps *caps = gst_pad_get_current_caps (rig->src);
  GstQuery *query = gst_query_new_allocation (caps, need_pool);

  T_CHECK (gst_pad_peer_query (rig->src, query), "the ALLOCATION query fails");
  gst_caps_unref (caps);
  return query;
}

GstBufferPool *
rig_take_offer (Rig *rig)
{
  GstQuery *query = rig_ask_for_allocation (rig, TRUE);
  GstBufferPool *pool = NULL;

  if (gst_query_get_n_allocation_pools (query) > 0)
    gst_query_parse_nth_allocation_pool (query, 0, &pool, NULL, NULL, NULL);
  gst_query_unref (query);
  if (T_CHECK (pool != NULL, "no pool is offered"))
    T_CHECK (gst_buffer_pool_set_active (pool, TRUE), "the offered pool cannot be activated");
  return pool;
}

GstBuffer *
rig_picture_from (Rig *rig, GstBufferPool *pool, guint n)
{
  GstBufferPoolAcquireParams params = { .flags = GST_BUFFER_POOL_ACQUIRE_FLAG_DONTWAIT };
  GstBuffer *buffer = NULL, *picture;
  GstVideoFrame from, to;
  guint tries;

  for (tries = 0; !buffer && tries < 5000 * et_factor (); tries++)
    if (gst_buffer_pool_acquire_buffer (pool, &buffer, &params) != GST_FLOW_OK)
      g_usleep (1000);
  if (!T_CHECK (buffer != NULL, "no buffer comes back"))
    return NULL;
  picture = rig_picture (rig, n);
  gst_video_frame_map (&from, &rig->info, picture, GST_MAP_READ);
  gst_video_frame_map (&to, &rig->info, buffer, GST_MAP_WRITE);
  gst_video_frame_copy (&to, &from);
  gst_video_frame_unmap (&from);
  gst_video_frame_unmap (&to);
  gst_buffer_copy_into (buffer, picture, GST_BUFFER_COPY_FLAGS | GST_BUFFER_COPY_TIMESTAMPS, 0, -1);
  gst_buffer_unref (picture);
  return buffer;
}

/* ---- what came ------------------------------------------------------------------------------------ */

gboolean
rig_wait (Rig *rig, guint n)
{
  const gint64 until = g_get_monotonic_time () + (gint64) WAIT_SECONDS * et_factor () * G_USEC_PER_SEC;
  gboolean in_time = TRUE;
  guint got;

  g_mutex_lock (&rig->lock);
  while (rig->n_buffers < n && in_time)
    in_time = g_cond_wait_until (&rig->changed, &rig->lock, until);
  got = rig->n_buffers;
  g_mutex_unlock (&rig->lock);
  return T_CHECK (got >= n, "%u of %u buffers came", got, n);
}

guint
rig_n_buffers (Rig *rig)
{
  guint n;

  g_mutex_lock (&rig->lock);
  n = rig->n_buffers;
  g_mutex_unlock (&rig->lock);
  return n;
}

guint
rig_n_items (Rig *rig)
{
  guint n;

  g_mutex_lock (&rig->lock);
  n = rig->items->len;
  g_mutex_unlock (&rig->lock);
  return n;
}

RigItem
rig_item (Rig *rig, guint n)
{
  RigItem item = { NULL, 0 };

  g_mutex_lock (&rig->lock);
  if (n < rig->items->len)
    item = g_array_index (rig->items, RigItem, n);
  g_mutex_unlock (&rig->lock);
  return item;
}

GstBuffer *
rig_buffer (Rig *rig, guint n, guint64 *time_ns)
{
  RigItem item;
  guint i;

  for (i = 0; (item = rig_item (rig, i)).object; i++) {
    if (GST_IS_BUFFER (item.object) && n-- == 0) {
      if (time_ns)
        *time_ns = item.time_ns;
      return GST_BUFFER_CAST (item.object);
    }
  }
  return NULL;
}

static gchar
letter_of (GstMiniObject *object)
{
  if (GST_IS_BUFFER (object))
    return 'b';
  if (GST_IS_QUERY (object))
    return GST_QUERY_TYPE (object) == GST_QUERY_ALLOCATION ? 'A' : 'D';
  switch (GST_EVENT_TYPE (object)) {
    case GST_EVENT_STREAM_START:
      return 's';
    case GST_EVENT_CAPS:
      return 'c';
    case GST_EVENT_SEGMENT:
      return 'g';
    case GST_EVENT_TAG:
      return 't';
    case GST_EVENT_GAP:
      return 'a';
    case GST_EVENT_CUSTOM_DOWNSTREAM:
      return 'u';
    case GST_EVENT_SEGMENT_DONE:
      return 'd';
    case GST_EVENT_EOS:
      return 'e';
    case GST_EVENT_FLUSH_START:
      return 'f';
    case GST_EVENT_FLUSH_STOP:
      return 'F';
    default:
      return '?';
  }
}

gchar *
rig_story (Rig *rig)
{
  GString *story = g_string_new (NULL);
  RigItem item;
  guint i;

  for (i = 0; (item = rig_item (rig, i)).object; i++)
    g_string_append_c (story, letter_of (item.object));
  return g_string_free (story, FALSE);
}

void
rig_forget (Rig *rig)
{
  guint i;

  g_mutex_lock (&rig->lock);
  for (i = 0; i < rig->items->len; i++)
    gst_mini_object_unref (g_array_index (rig->items, RigItem, i).object);
  g_array_set_size (rig->items, 0);
  rig->n_buffers = 0;
  g_mutex_unlock (&rig->lock);
}

GstCaps *
rig_output_caps (Rig *rig)
{
  return gst_pad_get_current_caps (rig->sink);
}

/* ---- messages and counters ------------------------------------------------------------------------ */

guint
rig_messages (Rig *rig, GstMessageType type, gchar **text)
{
  GString *said = g_string_new (NULL);
  GstMessage *message;
  guint n = 0;

  while ((message = gst_bus_pop (rig->bus))) {
    GError *error = NULL;
    gchar *debug = NULL;

    n += (GST_MESSAGE_TYPE (message) & type) != 0;
    if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR)
      gst_message_parse_error (message, &error, &debug);
    else if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_WARNING)
      gst_message_parse_warning (message, &error, &debug);
    if (error)
      g_string_append_printf (said, "%s | %s\n", error->message, debug ? debug : "");
    g_clear_error (&error);
    g_free (debug);
    gst_message_unref (message);
  }
  if (text)
    *text = g_string_free (said, FALSE);
  else
    g_string_free (said, TRUE);
  return n;
}

void
rig_no_trouble (Rig *rig)
{
  gchar *text;

  T_CHECK (rig_messages (rig, GST_MESSAGE_ERROR | GST_MESSAGE_WARNING, &text) == 0, "%s", text);
  g_free (text);
}

guint64
rig_stat (Rig *rig, const char *name)
{
  GstStructure *stats;
  guint64 value = G_MAXUINT64;

  g_object_get (rig->element, "stats", &stats, NULL);
  T_CHECK (gst_structure_get_uint64 (stats, name, &value), "no counter %s", name);
  gst_structure_free (stats);
  return value;
}

gchar *
rig_stat_string (Rig *rig, const char *name)
{
  GstStructure *stats;
  gchar *value;

  g_object_get (rig->element, "stats", &stats, NULL);
  value = g_strdup (gst_structure_get_string (stats, name));
  T_CHECK (value != NULL, "no text %s", name);
  gst_structure_free (stats);
  return value;
}
