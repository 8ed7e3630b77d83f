/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sobeldevice.h"

#include <pthread.h>
#include <stdlib.h>

struct SobelKeep
{
  SobelKeep *next;
  void *object;
  void (*release) (void *object);
};

/* Guards every device's `keeps` and what follows. Never held while a device or an object is called. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Devices whose hardware was still busy when they should have been destroyed. */
static SobelDevice *set_aside;
/* Their number, with those that some thread is trying to destroy right now. */
static unsigned n_set_aside;

void
sobel_device_keep (SobelDevice *device, void *object, void (*release) (void *object))
{
  SobelKeep *keep;

  if (!object || !release)
    return;
  if (!device) {
    release (object);
    return;
  }
  keep = malloc (sizeof *keep);
  if (!keep)
    return; /* leaked: worse things happen to memory that is reused while hardware writes to it */
  keep->object = object;
  keep->release = release;
  pthread_mutex_lock (&lock);
  keep->next = device->keeps;
  device->keeps = keep;
  pthread_mutex_unlock (&lock);
}

/* True when the device is gone. */
static bool
try_to_destroy (SobelDevice *device)
{
  SobelKeep *keep, *next;

  /* Remembered first: the list's head lies in the device. Nobody adds to it any more, as the caller owns
   * the device alone. */
  pthread_mutex_lock (&lock);
  keep = device->keeps;
  pthread_mutex_unlock (&lock);

  if (!device->ops->destroy (device))
    return false;
  for (; keep; keep = next) {
    next = keep->next;
    keep->release (keep->object);
    free (keep);
  }
  return true;
}

void
sobel_device_destroy (SobelDevice **device)
{
  SobelDevice *gone;

  if (!device || !*device)
    return;
  gone = *device;
  *device = NULL;
  sobel_device_reap ();
  if (try_to_destroy (gone))
    return;
  pthread_mutex_lock (&lock);
  gone->next = set_aside;
  set_aside = gone;
  n_set_aside++;
  pthread_mutex_unlock (&lock);
}

unsigned
sobel_device_reap (void)
{
  SobelDevice *device, *next;
  unsigned remaining;

  /* Taken off the list as a whole, so that two threads never try the same device. */
  pthread_mutex_lock (&lock);
  device = set_aside;
  set_aside = NULL;
  pthread_mutex_unlock (&lock);

  for (; device; device = next) {
    bool gone;

    next = device->next;
    gone = try_to_destroy (device);
    pthread_mutex_lock (&lock);
    if (gone) {
      n_set_aside--;
    } else {
      device->next = set_aside;
      set_aside = device;
    }
    pthread_mutex_unlock (&lock);
  }

  pthread_mutex_lock (&lock);
  remaining = n_set_aside;
  pthread_mutex_unlock (&lock);
  return remaining;
}
