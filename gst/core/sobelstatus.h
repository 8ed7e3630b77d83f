/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOBEL_STATUS_H
#define SOBEL_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

/* Outcome of a call below the element. The element alone turns one into a GStreamer message. */
typedef enum SobelStatus
{
  SOBEL_STATUS_OK = 0,
  SOBEL_STATUS_TIMEOUT,       /* not finished within the given time; nothing is wrong yet */
  SOBEL_STATUS_FLUSHING,      /* the ring lets no frame through at present */
  SOBEL_STATUS_NO_DEVICE,     /* no driver, no GPU, driver too old, no code for this GPU */
  SOBEL_STATUS_BAD_DEVICE_ID, /* there are GPUs, but not this one */
  SOBEL_STATUS_NO_MEMORY,     /* host, pinned or device memory is short, or the pinned cap is reached */
  SOBEL_STATUS_DEVICE_LOST,   /* the hardware failed, or did not finish a frame in time */
  SOBEL_STATUS_INVALID,       /* the request breaks the callee's contract; nothing was started */
} SobelStatus;

enum { SOBEL_ERROR_MESSAGE_SIZE = 256 };

/* What went wrong and what had been asked for, in words for a person. Lives in the caller's memory. */
typedef struct SobelError
{
  SobelStatus status;
  char message[SOBEL_ERROR_MESSAGE_SIZE]; /* NUL-terminated, cut if longer */
} SobelError;

/* Static name such as "no-memory"; "unknown" for values outside the enum. */
const char *sobel_status_name (SobelStatus status);

/* Fills `error` (may be NULL) as printf does, and returns `status`, so that a callee can
 * `return sobel_error_set (error, SOBEL_STATUS_..., "...", ...)`. */
SobelStatus sobel_error_set (SobelError *error, SobelStatus status, const char *format, ...)
#if defined(__GNUC__)
    __attribute__ ((format (printf, 3, 4)))
#endif
    ;

#ifdef __cplusplus
}
#endif
#endif
