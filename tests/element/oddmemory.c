/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "oddmemory.h"

typedef GstAllocator OddAllocator;
typedef GstAllocatorClass OddAllocatorClass;
GType odd_allocator_get_type (void);
G_DEFINE_TYPE (OddAllocator, odd_allocator, GST_TYPE_ALLOCATOR)

static gpointer
never_map (GstMemory *memory, gsize size, GstMapFlags flags)
{
  return NULL;
}

static void
free_memory (GstAllocator *allocator, GstMemory *memory)
{
  g_free (memory);
}

static void
odd_allocator_class_init (OddAllocatorClass *klass)
{
  klass->free = free_memory;
}

static void
odd_allocator_init (OddAllocator *allocator)
{
  allocator->mem_type = "never-mapped";
  allocator->mem_map = never_map;
}

GstMemory *
odd_memory_unmappable (gsize size)
{
  GstAllocator *allocator = gst_object_ref_sink (g_object_new (odd_allocator_get_type (), NULL));
  GstMemory *memory = g_new0 (GstMemory, 1);

  gst_memory_init (memory, 0, allocator, NULL, size, 0, 0, size);
  gst_object_unref (allocator);
  return memory;
}
