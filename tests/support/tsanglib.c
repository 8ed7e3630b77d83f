/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Makes GLib's and GStreamer's synchronisation visible to ThreadSanitizer.
 *
 * GMutex, GCond and the rest are built on futexes and on atomics inside libraries that are not instrumented, so
 * TSan sees neither and would report every access that they guard. This library is preloaded into test programs
 * (build option b_sanitize=thread): each function below calls the real one and tells TSan what it orders.
 *
 * The rule for each pair: what happened before an unlock, a push or a dropped reference happened before the lock,
 * the pop or the release of memory that comes after it on the same object. Nothing else is hidden, so a race that
 * these objects do not order is still reported; tests/support/tsanproof.c holds both halves of that.
 *
 * A process without TSan (a helper that inherited LD_PRELOAD) has no annotations: then only the real call is made. */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <gst/gst.h>

/* The real functions are looked up by name; the headers' macro forms must not get in the way. */
#undef g_once_init_enter
#undef g_once_init_leave
#undef g_once_init_enter_pointer
#undef g_once_init_leave_pointer

#define EXPORT __attribute__ ((visibility ("default")))

extern void __tsan_acquire (void *address) __attribute__ ((weak));
extern void __tsan_release (void *address) __attribute__ ((weak));

static void
acquired (const volatile void *object)
{
  if (__tsan_acquire && object)
    __tsan_acquire ((void *) object);
}

static void
releasing (const volatile void *object)
{
  if (__tsan_release && object)
    __tsan_release ((void *) object);
}

/* Declares `real`, the next definition of the function whose body it stands in. Looked up each time it is
 * needed for the first time; two threads that do so at once find the same address. */
#define REAL(function)                                                                                             \
  static __typeof__ (&function) cached;                                                                            \
  __typeof__ (&function) real = __atomic_load_n (&cached, __ATOMIC_RELAXED);                                       \
  if (G_UNLIKELY (!real)) {                                                                                        \
    real = (__typeof__ (&function)) dlsym (RTLD_NEXT, #function);                                                  \
    __atomic_store_n (&cached, real, __ATOMIC_RELAXED);                                                            \
  }

/* The three shapes that nearly all wrappers have. */
#define ACQUIRE_AFTER(function, type)                                                                              \
  EXPORT void function (type *object)                                                                              \
  {                                                                                                                \
    REAL (function);                                                                                               \
    real (object);                                                                                                 \
    acquired (object);                                                                                             \
  }
#define ACQUIRE_IF(function, type)                                                                                 \
  EXPORT gboolean function (type *object)                                                                          \
  {                                                                                                                \
    REAL (function);                                                                                               \
    const gboolean got = real (object);                                                                            \
    if (got)                                                                                                       \
      acquired (object);                                                                                           \
    return got;                                                                                                    \
  }
#define RELEASE_BEFORE(function, type)                                                                             \
  EXPORT void function (type *object)                                                                              \
  {                                                                                                                \
    REAL (function);                                                                                               \
    releasing (object);                                                                                            \
    real (object);                                                                                                 \
  }

/* ---- locks ---------------------------------------------------------------------------------------- */

ACQUIRE_AFTER (g_mutex_lock, GMutex)
ACQUIRE_IF (g_mutex_trylock, GMutex)
RELEASE_BEFORE (g_mutex_unlock, GMutex)
RELEASE_BEFORE (g_mutex_clear, GMutex)

ACQUIRE_AFTER (g_rec_mutex_lock, GRecMutex)
ACQUIRE_IF (g_rec_mutex_trylock, GRecMutex)
RELEASE_BEFORE (g_rec_mutex_unlock, GRecMutex)
RELEASE_BEFORE (g_rec_mutex_clear, GRecMutex)

/* A reader's unlock is ordered before the next writer's lock, but two readers are not ordered: readers release
 * to the neighbouring address, which only writers acquire. */
static volatile void *
readers_of (GRWLock *lock)
{
  return (char *) lock + 1;
}

ACQUIRE_AFTER (g_rw_lock_reader_lock, GRWLock)
ACQUIRE_IF (g_rw_lock_reader_trylock, GRWLock)
RELEASE_BEFORE (g_rw_lock_writer_unlock, GRWLock)

EXPORT void
g_rw_lock_reader_unlock (GRWLock *lock)
{
  REAL (g_rw_lock_reader_unlock);
  releasing (readers_of (lock));
  real (lock);
}

EXPORT void
g_rw_lock_writer_lock (GRWLock *lock)
{
  REAL (g_rw_lock_writer_lock);
  real (lock);
  acquired (lock);
  acquired (readers_of (lock));
}

EXPORT gboolean
g_rw_lock_writer_trylock (GRWLock *lock)
{
  REAL (g_rw_lock_writer_trylock);
  const gboolean got = real (lock);
  if (got) {
    acquired (lock);
    acquired (readers_of (lock));
  }
  return got;
}

EXPORT void
g_bit_lock (volatile gint *address, gint bit)
{
  REAL (g_bit_lock);
  real (address, bit);
  acquired (address);
}

EXPORT gboolean
g_bit_trylock (volatile gint *address, gint bit)
{
  REAL (g_bit_trylock);
  const gboolean got = real (address, bit);
  if (got)
    acquired (address);
  return got;
}

EXPORT void
g_bit_unlock (volatile gint *address, gint bit)
{
  REAL (g_bit_unlock);
  releasing (address);
  real (address, bit);
}

EXPORT void
(g_pointer_bit_lock) (volatile void *address, gint bit)
{
  REAL (g_pointer_bit_lock);
  real (address, bit);
  acquired (address);
}

EXPORT void
(g_pointer_bit_unlock) (volatile void *address, gint bit)
{
  REAL (g_pointer_bit_unlock);
  releasing (address);
  real (address, bit);
}

/* ---- conditions: waiting lets the mutex go and takes it again --------------------------------------- */

EXPORT void
g_cond_wait (GCond *cond, GMutex *mutex)
{
  REAL (g_cond_wait);
  releasing (mutex);
  real (cond, mutex);
  acquired (mutex);
  acquired (cond);
}

EXPORT gboolean
g_cond_wait_until (GCond *cond, GMutex *mutex, gint64 end_time)
{
  REAL (g_cond_wait_until);
  gboolean signalled;
  releasing (mutex);
  signalled = real (cond, mutex, end_time);
  acquired (mutex);
  if (signalled)
    acquired (cond);
  return signalled;
}

RELEASE_BEFORE (g_cond_signal, GCond)
RELEASE_BEFORE (g_cond_broadcast, GCond)

/* ---- once ------------------------------------------------------------------------------------------ */

EXPORT gboolean
(g_once_init_enter) (volatile void *location)
{
  REAL (g_once_init_enter);
  const gboolean first = real (location);
  acquired (location);
  return first;
}

/* The fast path of later callers is an atomic load of `location` in their own code, which TSan orders after
 * the annotation here. */
EXPORT void
(g_once_init_leave) (volatile void *location, gsize result)
{
  REAL (g_once_init_leave);
  releasing (location);
  real (location, result);
}

#if GLIB_CHECK_VERSION(2, 80, 0)
EXPORT gboolean
g_once_init_enter_pointer (void *location)
{
  REAL (g_once_init_enter_pointer);
  const gboolean first = real (location);
  acquired (location);
  return first;
}

EXPORT void
g_once_init_leave_pointer (void *location, gpointer result)
{
  REAL (g_once_init_leave_pointer);
  releasing (location);
  real (location, result);
}
#endif

EXPORT gpointer
g_once_impl (GOnce *once, GThreadFunc func, gpointer argument)
{
  REAL (g_once_impl);
  gpointer result;
  releasing (once);
  result = real (once, func, argument);
  acquired (once);
  return result;
}

/* ---- queues ---------------------------------------------------------------------------------------- */

EXPORT void
g_async_queue_push (GAsyncQueue *queue, gpointer data)
{
  REAL (g_async_queue_push);
  releasing (queue);
  real (queue, data);
}

EXPORT void
g_async_queue_push_unlocked (GAsyncQueue *queue, gpointer data)
{
  REAL (g_async_queue_push_unlocked);
  releasing (queue);
  real (queue, data);
}

EXPORT gpointer
g_async_queue_pop (GAsyncQueue *queue)
{
  REAL (g_async_queue_pop);
  gpointer data = real (queue);
  acquired (queue);
  return data;
}

EXPORT gpointer
g_async_queue_try_pop (GAsyncQueue *queue)
{
  REAL (g_async_queue_try_pop);
  gpointer data = real (queue);
  acquired (queue);
  return data;
}

EXPORT gpointer
g_async_queue_timeout_pop (GAsyncQueue *queue, guint64 timeout)
{
  REAL (g_async_queue_timeout_pop);
  gpointer data = real (queue, timeout);
  acquired (queue);
  return data;
}

EXPORT gpointer
g_async_queue_timeout_pop_unlocked (GAsyncQueue *queue, guint64 timeout)
{
  REAL (g_async_queue_timeout_pop_unlocked);
  gpointer data = real (queue, timeout);
  acquired (queue);
  return data;
}

EXPORT void
g_async_queue_lock (GAsyncQueue *queue)
{
  REAL (g_async_queue_lock);
  real (queue);
  acquired (queue);
}

EXPORT void
g_async_queue_unlock (GAsyncQueue *queue)
{
  REAL (g_async_queue_unlock);
  releasing (queue);
  real (queue);
}

EXPORT gboolean
gst_bus_post (GstBus *bus, GstMessage *message)
{
  REAL (gst_bus_post);
  releasing (bus);
  return real (bus, message);
}

/* gst_bus_pop and its kin call this one inside the library, unseen: they are wrapped one by one. */
EXPORT GstMessage *
gst_bus_timed_pop_filtered (GstBus *bus, GstClockTime timeout, GstMessageType types)
{
  REAL (gst_bus_timed_pop_filtered);
  GstMessage *message = real (bus, timeout, types);
  acquired (bus);
  return message;
}

EXPORT GstMessage *
gst_bus_timed_pop (GstBus *bus, GstClockTime timeout)
{
  REAL (gst_bus_timed_pop);
  GstMessage *message = real (bus, timeout);
  acquired (bus);
  return message;
}

EXPORT GstMessage *
gst_bus_pop (GstBus *bus)
{
  REAL (gst_bus_pop);
  GstMessage *message = real (bus);
  acquired (bus);
  return message;
}

EXPORT GstMessage *
gst_bus_pop_filtered (GstBus *bus, GstMessageType types)
{
  REAL (gst_bus_pop_filtered);
  GstMessage *message = real (bus, types);
  acquired (bus);
  return message;
}

EXPORT gboolean
gst_element_post_message (GstElement *element, GstMessage *message)
{
  REAL (gst_element_post_message);
  GstBus *bus = element->bus; /* only the address is used */
  releasing (bus);
  return real (element, message);
}

/* ---- buffers and references ------------------------------------------------------------------------ */

/* What a holder did with a buffer before it let go of it happened before the next one maps it or takes it out of a
 * pool. Memory that GLib frees is out of TSan's sight: AddressSanitizer looks for what is used too late. */
RELEASE_BEFORE (gst_mini_object_unref, GstMiniObject)

EXPORT void
gst_object_unref (gpointer object)
{
  REAL (gst_object_unref);
  releasing (object);
  real (object);
}

EXPORT void
g_object_unref (gpointer object)
{
  REAL (g_object_unref);
  releasing (object);
  real (object);
}

EXPORT void
gst_memory_unmap (GstMemory *memory, GstMapInfo *info)
{
  REAL (gst_memory_unmap);
  releasing (memory);
  real (memory, info);
}

EXPORT gboolean
gst_memory_map (GstMemory *memory, GstMapInfo *info, GstMapFlags flags)
{
  REAL (gst_memory_map);
  const gboolean mapped = real (memory, info, flags);
  acquired (memory);
  return mapped;
}

EXPORT void
gst_buffer_unmap (GstBuffer *buffer, GstMapInfo *info)
{
  REAL (gst_buffer_unmap);
  releasing (info->memory);
  releasing (buffer);
  real (buffer, info);
}

EXPORT gboolean
gst_buffer_map (GstBuffer *buffer, GstMapInfo *info, GstMapFlags flags)
{
  REAL (gst_buffer_map);
  const gboolean mapped = real (buffer, info, flags);
  if (mapped) {
    acquired (buffer);
    acquired (info->memory);
  }
  return mapped;
}

EXPORT gboolean
gst_buffer_map_range (GstBuffer *buffer, guint index, gint length, GstMapInfo *info, GstMapFlags flags)
{
  REAL (gst_buffer_map_range);
  const gboolean mapped = real (buffer, index, length, info, flags);
  if (mapped) {
    acquired (buffer);
    acquired (info->memory);
  }
  return mapped;
}

EXPORT GstFlowReturn
gst_buffer_pool_acquire_buffer (GstBufferPool *pool, GstBuffer **buffer, GstBufferPoolAcquireParams *params)
{
  REAL (gst_buffer_pool_acquire_buffer);
  const GstFlowReturn flow = real (pool, buffer, params);
  if (flow == GST_FLOW_OK)
    acquired (*buffer);
  return flow;
}
