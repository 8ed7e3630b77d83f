/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstcudasobel.h"

static gboolean
plugin_init (GstPlugin *plugin)
{
  return GST_ELEMENT_REGISTER (cudasobel, plugin);
}

#define PACKAGE "gst-cuda-sobel"

GST_PLUGIN_DEFINE (GST_VERSION_MAJOR, GST_VERSION_MINOR, cudasobel, "Sobel edges of video on NVIDIA GPUs and CPUs",
                   plugin_init, SOBEL_VERSION, "LGPL", "gst-cuda-sobel", "https://gstreamer.freedesktop.org/")
