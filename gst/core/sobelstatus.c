/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sobelstatus.h"

#include <stdarg.h>
#include <stdio.h>

const char *
sobel_status_name (SobelStatus status)
{
  switch (status) {
    case SOBEL_STATUS_OK:
      return "ok";
    case SOBEL_STATUS_TIMEOUT:
      return "timeout";
    case SOBEL_STATUS_FLUSHING:
      return "flushing";
    case SOBEL_STATUS_NO_DEVICE:
      return "no-device";
    case SOBEL_STATUS_BAD_DEVICE_ID:
      return "bad-device-id";
    case SOBEL_STATUS_NO_MEMORY:
      return "no-memory";
    case SOBEL_STATUS_DEVICE_LOST:
      return "device-lost";
    case SOBEL_STATUS_INVALID:
      return "invalid";
  }
  return "unknown";
}

SobelStatus
sobel_error_set (SobelError *error, SobelStatus status, const char *format, ...)
{
  if (error) {
    va_list args;

    error->status = status;
    va_start (args, format);
    vsnprintf (error->message, sizeof error->message, format, args);
    va_end (args);
  }
  return status;
}
