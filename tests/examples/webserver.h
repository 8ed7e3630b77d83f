/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOBEL_EXAMPLE_WEB_SERVER_H
#define SOBEL_EXAMPLE_WEB_SERVER_H

/* As much of HTTP as one page with a live picture needs: short answers, and /stream, which sends every viewer one
 * JPEG after the other. A viewer that reads too slowly misses pictures and holds nobody up. Everything happens in the
 * main context of the thread that made the server. */

#include <gio/gio.h>

typedef struct WebServer WebServer;

typedef struct
{
  const char *method, *path; /* "GET", "/settings" */
  const char *body;          /* "" if there is none */
} WebRequest;

typedef struct
{
  guint status;     /* 200, 404 ... */
  const char *type; /* of the body; static */
  GBytes *body;     /* (transfer full), or NULL */
} WebReply;

/* Fills `reply`, which is 404 and empty. */
typedef void (*WebHandler) (const WebRequest *request, WebReply *reply, gpointer user);

/* Listens at `address`, a number such as 127.0.0.1 or ::1, and `port`; 0: any that is free. */
WebServer *web_server_new (const char *address, guint16 port, WebHandler handler, gpointer user, GError **error);
void web_server_free (WebServer *server);

guint16 web_server_port (WebServer *server);

/* The next picture, to everybody who watches. */
void web_server_push_picture (WebServer *server, GBytes *jpeg);

guint web_server_n_viewers (WebServer *server);
/* Pictures that were sent, and that a viewer was too slow for; over all viewers so far. */
void web_server_count (WebServer *server, guint64 *sent, guint64 *missed);

#endif
