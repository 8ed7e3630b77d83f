/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstsobelmemory.h"

#include <stdlib.h>
#include <string.h>

GST_DEBUG_CATEGORY_EXTERN (gst_cuda_sobel_debug);
#define GST_CAT_DEFAULT gst_cuda_sobel_debug

/* Pages are what CUDA registers, and more than any vector unit asks for. */
enum { PLAIN_ALIGNMENT = 4096 };

struct _GstSobelAllocator
{
  GstAllocator parent;
  GMutex lock; /* held while the device allocates, so that it cannot be taken away meanwhile */
  SobelDevice *device;
  SobelError error; /* of the last host_alloc that failed where no other memory would do */
};

G_DEFINE_TYPE (GstSobelAllocator, gst_sobel_allocator, GST_TYPE_ALLOCATOR)

static void
plain_block_free (SobelHostBlock *block)
{
  free (block->data);
  g_free (block);
}

static SobelHostBlock *
plain_block_new (gsize size)
{
  SobelHostBlock *block;
  void *data;

  if (posix_memalign (&data, PLAIN_ALIGNMENT, size))
    return NULL;
  block = g_new (SobelHostBlock, 1);
  block->data = data;
  block->size = size;
  block->free = plain_block_free;
  return block;
}

static GstSobelMemory *
memory_new (GstSobelAllocator *self, GstMemory *parent, GstMemoryFlags flags, gsize maxsize, gsize align, gsize offset,
            gsize size)
{
  GstSobelMemory *memory = g_new0 (GstSobelMemory, 1);

  gst_memory_init (GST_MEMORY_CAST (memory), flags, GST_ALLOCATOR_CAST (self), parent, maxsize, align, offset, size);
  return memory;
}

/* FALSE: the device must give it, and cannot. TRUE with *block NULL: plain memory will do. */
static gboolean
device_alloc (GstSobelAllocator *self, gsize size, gboolean no_other, SobelHostBlock **block)
{
  SobelError error = { SOBEL_STATUS_OK, "" };

  *block = NULL;
  g_mutex_lock (&self->lock);
  if (self->device && self->device->ops->host_alloc) {
    error.status = self->device->ops->host_alloc (self->device, size, block, &error);
    if (error.status != SOBEL_STATUS_OK) {
      GST_INFO ("%s: %s", no_other ? "no pinned memory" : "no pinned memory, taking plain memory", error.message);
      *block = NULL;
      if (no_other)
        self->error = error;
    }
  }
  g_mutex_unlock (&self->lock);
  return error.status == SOBEL_STATUS_OK || !no_other;
}

static GstMemory *
allocator_alloc (GstAllocator *allocator, gsize size, GstAllocationParams *params)
{
  GstSobelAllocator *self = GST_SOBEL_ALLOCATOR (allocator);
  const gsize maxsize = size + params->prefix + params->padding;
  SobelHostBlock *block;
  GstSobelMemory *memory;
  gboolean pinned;

  if (maxsize < size || params->align >= PLAIN_ALIGNMENT) {
    GST_ERROR ("cannot allocate %" G_GSIZE_FORMAT " bytes with alignment mask %" G_GSIZE_FORMAT, size, params->align);
    return NULL;
  }
  if (!device_alloc (self, MAX (maxsize, 1), (params->flags & GST_SOBEL_MEMORY_FLAG_OF_DEVICE) != 0, &block))
    return NULL;
  pinned = block != NULL;
  if (!block)
    block = plain_block_new (MAX (maxsize, 1));
  if (!block) {
    GST_ERROR ("out of memory: %" G_GSIZE_FORMAT " bytes for a frame", maxsize);
    return NULL;
  }
  memory = memory_new (self, NULL, params->flags, maxsize, params->align, params->prefix, size);
  memory->block = block;
  memory->data = block->data;
  memory->pinned = pinned;
  /* Row padding is never computed: it is written here, once, so that nobody sees other people's bytes. */
  memset (block->data, 0, maxsize);
  return GST_MEMORY_CAST (memory);
}

static void
allocator_free (GstAllocator *allocator, GstMemory *mem)
{
  GstSobelMemory *memory = (GstSobelMemory *) mem;

  if (memory->block)
    memory->block->free (memory->block);
  g_free (memory);
}

GstSobelMemory *
gst_sobel_memory_root (GstMemory *mem)
{
  if (!gst_memory_is_type (mem, GST_SOBEL_MEMORY_TYPE))
    return NULL;
  while (mem->parent)
    mem = mem->parent;
  return (GstSobelMemory *) mem;
}

static gpointer
memory_map (GstMemory *mem, gsize maxsize, GstMapFlags flags)
{
  if (flags & GST_MAP_WRITE)
    gst_sobel_memory_set_neutral (gst_sobel_memory_root (mem), FALSE);
  return ((GstSobelMemory *) mem)->data;
}

static void
memory_unmap (GstMemory *mem)
{
}

static GstMemory *
memory_share (GstMemory *mem, gssize offset, gssize size)
{
  GstSobelMemory *root = gst_sobel_memory_root (mem);
  GstSobelMemory *share;

  if (size == -1)
    size = (gssize) mem->size - offset;
  share = memory_new (GST_SOBEL_ALLOCATOR (mem->allocator), GST_MEMORY_CAST (root),
                      GST_MINI_OBJECT_FLAGS (mem) | GST_MINI_OBJECT_FLAG_LOCK_READONLY, mem->maxsize, mem->align,
                      mem->offset + offset, size);
  share->data = root->data;
  share->pinned = root->pinned;
  return GST_MEMORY_CAST (share);
}

gboolean
gst_sobel_memory_is_neutral (GstSobelMemory *root)
{
  return g_atomic_int_get (&root->neutral);
}

void
gst_sobel_memory_set_neutral (GstSobelMemory *root, gboolean neutral)
{
  g_atomic_int_set (&root->neutral, neutral);
}

static void
gst_sobel_allocator_init (GstSobelAllocator *self)
{
  GstAllocator *allocator = GST_ALLOCATOR_CAST (self);

  g_mutex_init (&self->lock);
  allocator->mem_type = GST_SOBEL_MEMORY_TYPE;
  allocator->mem_map = memory_map;
  allocator->mem_unmap = memory_unmap;
  allocator->mem_share = memory_share;
}

static void
gst_sobel_allocator_finalize (GObject *object)
{
  g_mutex_clear (&GST_SOBEL_ALLOCATOR (object)->lock);
  G_OBJECT_CLASS (gst_sobel_allocator_parent_class)->finalize (object);
}

static void
gst_sobel_allocator_class_init (GstSobelAllocatorClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = gst_sobel_allocator_finalize;
  GST_ALLOCATOR_CLASS (klass)->alloc = allocator_alloc;
  GST_ALLOCATOR_CLASS (klass)->free = allocator_free;
}

GstSobelAllocator *
gst_sobel_allocator_new (void)
{
  GstSobelAllocator *self = g_object_new (GST_TYPE_SOBEL_ALLOCATOR, NULL);

  gst_object_ref_sink (self);
  return self;
}

void
gst_sobel_allocator_set_device (GstSobelAllocator *self, SobelDevice *device)
{
  g_mutex_lock (&self->lock);
  self->device = device;
  g_mutex_unlock (&self->lock);
}

SobelStatus
gst_sobel_allocator_get_error (GstSobelAllocator *self, SobelError *error)
{
  g_mutex_lock (&self->lock);
  if (self->error.status != SOBEL_STATUS_OK)
    *error = self->error;
  g_mutex_unlock (&self->lock);
  return error->status;
}

void
gst_sobel_allocator_clear_error (GstSobelAllocator *self)
{
  g_mutex_lock (&self->lock);
  memset (&self->error, 0, sizeof self->error);
  g_mutex_unlock (&self->lock);
}
