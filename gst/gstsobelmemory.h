/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef GST_SOBEL_MEMORY_H
#define GST_SOBEL_MEMORY_H

#include "core/sobeldevice.h"

#include <gst/gst.h>

G_BEGIN_DECLS

#define GST_SOBEL_MEMORY_TYPE "CudaSobelMemory"

/* In the flags of GstAllocationParams: none rather than plain memory, where there is a device that has no more. */
#define GST_SOBEL_MEMORY_FLAG_OF_DEVICE (GST_MEMORY_FLAG_LAST)

/* Host memory of one picture, from the device's own host_alloc (pinned) where it has one, else plain.
 * It remembers whether anybody mapped it for writing, so that what is always the same in it (neutral
 * chroma) is written once and not once a frame. */
typedef struct
{
  GstMemory mem;
  SobelHostBlock *block; /* owned; NULL in a share of another memory */
  guint8 *data;          /* of offset 0 */
  gboolean pinned;
  gint neutral;          /* atomic; see gst_sobel_memory_is_neutral() */
} GstSobelMemory;

#define GST_TYPE_SOBEL_ALLOCATOR (gst_sobel_allocator_get_type ())
G_DECLARE_FINAL_TYPE (GstSobelAllocator, gst_sobel_allocator, GST, SOBEL_ALLOCATOR, GstAllocator)

/* Without a device yet: plain memory. (transfer full) */
GstSobelAllocator *gst_sobel_allocator_new (void);

/* New memory comes from `device` from now on; NULL: plain memory. `device` must live until it is taken
 * away again; existing memory does not depend on it. Any thread. */
void gst_sobel_allocator_set_device (GstSobelAllocator *self, SobelDevice *device);

/* Why memory that had to be the device's could not be had, the last time since clear_error; OK if it always could. */
SobelStatus gst_sobel_allocator_get_error (GstSobelAllocator *self, SobelError *error);
void gst_sobel_allocator_clear_error (GstSobelAllocator *self);

/* The whole memory that `mem` is (a share of), or NULL if it is not ours. (transfer none) */
GstSobelMemory *gst_sobel_memory_root (GstMemory *mem);

/* Whether the planes without picture content still hold what gst_sobel_memory_set_neutral() vouched for:
 * a mapping for writing takes it back. */
gboolean gst_sobel_memory_is_neutral (GstSobelMemory *root);
void gst_sobel_memory_set_neutral (GstSobelMemory *root, gboolean neutral);

G_END_DECLS
#endif
