/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "webserver.h"

#include <string.h>
#include <sys/socket.h>

enum {
  MAX_REQUEST = 16384, /* bytes of head and body */
  MAX_CLIENTS = 64,
  SEND_BUFFER = 262144, /* bytes in the kernel for one viewer: about two pictures, so that none is old */
  REQUEST_SECONDS = 10, /* to send a request, or to take an answer */
  PICTURE_SECONDS = 20, /* to take one picture */
};

#define BOUNDARY "--picture\r\n"

struct WebServer
{
  GSocketService *service;
  guint16 port;
  WebHandler handler;
  gpointer user;
  GList *clients; /* open ones */
  guint n_clients; /* those, and closed ones that are not freed yet */
  guint64 sent, missed;
};

/* One connection: a request and its answer, or a viewer for as long as it stays. */
typedef struct
{
  WebServer *server;
  gboolean closed;
  GSocketConnection *connection;
  GCancellable *cancellable;
  guint pending; /* operations that will still call back */
  guint timeout;
  guint8 chunk[4096];
  GByteArray *request;
  gboolean watches;  /* is a viewer */
  gboolean writing;
  GString *head;     /* being written */
  GBytes *body;      /* likewise */
  GBytes *next;      /* the picture to send after that */
  GOutputVector vectors[3];
} Client;

static void start_reading (Client *client);
static void send_picture (Client *client, GBytes *jpeg);

/* ---- connections ---------------------------------------------------------------------------------- */

static void
set_timeout (Client *client, guint seconds, GSourceFunc function)
{
  if (client->timeout)
    g_source_remove (client->timeout);
  client->timeout = seconds ? g_timeout_add_seconds (seconds, function, client) : 0;
}

/* Closes the connection. What is pending is cancelled and calls back once more; the last to do so frees the client. */
static void
drop_client (Client *client)
{
  if (!client->closed) {
    client->closed = TRUE;
    client->server->clients = g_list_remove (client->server->clients, client);
    set_timeout (client, 0, NULL);
    g_cancellable_cancel (client->cancellable);
  }
  if (client->pending > 0)
    return;
  client->server->n_clients--;
  g_clear_pointer (&client->body, g_bytes_unref);
  g_clear_pointer (&client->next, g_bytes_unref);
  g_string_free (client->head, TRUE);
  g_byte_array_unref (client->request);
  g_object_unref (client->cancellable);
  g_object_unref (client->connection);
  g_free (client);
}

static gboolean
give_up (gpointer user)
{
  Client *client = user;

  client->timeout = 0;
  drop_client (client);
  return G_SOURCE_REMOVE;
}

static void
written (GObject *stream, GAsyncResult *result, gpointer user)
{
  Client *client = user;
  const gboolean ok = g_output_stream_writev_all_finish (G_OUTPUT_STREAM (stream), result, NULL, NULL);

  client->pending--;
  client->writing = FALSE;
  g_clear_pointer (&client->body, g_bytes_unref);
  if (client->closed || !ok || !client->watches) {
    drop_client (client);
    return;
  }
  set_timeout (client, 0, NULL);
  if (client->next) {
    GBytes *next = g_steal_pointer (&client->next);
    send_picture (client, next);
    g_bytes_unref (next);
  }
}

/* Writes client->head, `body` (may be NULL) and `tail`, a static string. */
static void
write_all (Client *client, GBytes *body, const char *tail, guint seconds)
{
  gsize size = 0;

  client->vectors[0] = (GOutputVector){ client->head->str, client->head->len };
  client->body = body ? g_bytes_ref (body) : NULL;
  client->vectors[1].buffer = body ? g_bytes_get_data (body, &size) : "";
  client->vectors[1].size = size;
  client->vectors[2] = (GOutputVector){ tail, strlen (tail) };
  client->writing = TRUE;
  client->pending++;
  set_timeout (client, seconds, give_up);
  g_output_stream_writev_all_async (g_io_stream_get_output_stream (G_IO_STREAM (client->connection)),
                                    client->vectors, 3, G_PRIORITY_DEFAULT, client->cancellable, written, client);
}

/* ---- pictures ------------------------------------------------------------------------------------- */

static void
send_picture (Client *client, GBytes *jpeg)
{
  client->server->sent++;
  g_string_printf (client->head, "Content-Type: image/jpeg\r\nContent-Length: %" G_GSIZE_FORMAT "\r\n\r\n",
                   g_bytes_get_size (jpeg));
  /* The boundary belongs to the next picture; sent now, it tells the browser that this one is complete. */
  write_all (client, jpeg, "\r\n" BOUNDARY, PICTURE_SECONDS);
}

static void
start_watching (Client *client)
{
  GSocket *socket = g_socket_connection_get_socket (client->connection);

  client->watches = TRUE;
  g_socket_set_option (socket, SOL_SOCKET, SO_SNDBUF, SEND_BUFFER, NULL);
  g_string_assign (client->head, "HTTP/1.0 200 OK\r\n"
                                 "Content-Type: multipart/x-mixed-replace; boundary=picture\r\n"
                                 "Cross-Origin-Resource-Policy: same-origin\r\n"
                                 "Cache-Control: no-store\r\n\r\n");
  write_all (client, NULL, BOUNDARY, REQUEST_SECONDS);
  start_reading (client); /* to learn when the viewer leaves */
}

void
web_server_push_picture (WebServer *server, GBytes *jpeg)
{
  GList *item;

  for (item = server->clients; item; item = item->next) {
    Client *client = item->data;

    if (!client->watches)
      continue;
    if (!client->writing) {
      send_picture (client, jpeg);
      continue;
    }
    if (client->next) {
      server->missed++;
      g_bytes_unref (client->next);
    }
    client->next = g_bytes_ref (jpeg);
  }
}

/* ---- requests ------------------------------------------------------------------------------------- */

static const char *
status_text (guint status)
{
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 413:
      return "Content Too Large";
    case 503:
      return "Service Unavailable";
    default:
      return "Error";
  }
}

/* Takes reply->body. */
static void
answer (Client *client, WebReply *reply)
{
  if (!reply->body) {
    reply->type = "text/plain; charset=utf-8";
    reply->body = g_bytes_new_static (status_text (reply->status), strlen (status_text (reply->status)));
  }
  g_string_printf (client->head,
                   "HTTP/1.0 %u %s\r\nContent-Type: %s\r\nContent-Length: %" G_GSIZE_FORMAT "\r\n"
                   "Cross-Origin-Resource-Policy: same-origin\r\nX-Content-Type-Options: nosniff\r\n"
                   "Cache-Control: no-store\r\nConnection: close\r\n\r\n",
                   reply->status, status_text (reply->status), reply->type, g_bytes_get_size (reply->body));
  write_all (client, reply->body, "", REQUEST_SECONDS);
  g_bytes_unref (reply->body);
}

static void
answer_status (Client *client, guint status)
{
  WebReply reply = { status, NULL, NULL };

  answer (client, &reply);
}

/* The value of a header field, or NULL. (transfer full) */
static char *
header_value (char **lines, const char *name)
{
  const gsize length = strlen (name);
  char **line;

  for (line = lines + 1; *line; line++) {
    if (g_ascii_strncasecmp (*line, name, length) == 0 && (*line)[length] == ':')
      return g_strstrip (g_strdup (*line + length + 1));
  }
  return NULL;
}

/* A page of somebody else must neither watch nor set anything here: neither by naming this server from there, nor by
 * a name of its own that leads to this address. */
static gboolean
comes_from_here (char **lines)
{
  char *host = header_value (lines, "Host");
  char *origin = header_value (lines, "Origin");
  char *text = g_strconcat ("http://", host, NULL);
  GUri *uri = g_uri_parse (text, G_URI_FLAGS_NONE, NULL);
  const char *name = uri && g_uri_get_host (uri) ? g_uri_get_host (uri) : "";
  const gboolean ok = (g_hostname_is_ip_address (name) || strcmp (name, "localhost") == 0) &&
                      (!origin || strcmp (origin, text) == 0);

  g_clear_pointer (&uri, g_uri_unref);
  g_free (text);
  g_free (origin);
  g_free (host);
  return ok;
}

/* The request is complete: `head` ends before the empty line. */
static void
take_request (Client *client, char *head, const char *body)
{
  char **lines = g_strsplit (head, "\r\n", -1);
  char **words = g_strsplit (lines[0] ? lines[0] : "", " ", 3);
  WebReply reply = { 404, NULL, NULL };

  if (g_strv_length (words) != 3 || !g_str_has_prefix (words[2], "HTTP/1.")) {
    answer_status (client, 400);
  } else if (!comes_from_here (lines)) {
    answer_status (client, 403);
  } else {
    const WebRequest request = { words[0], words[1], body };
    char *query = strchr (words[1], '?');
    if (query)
      *query = 0;
    if (strcmp (request.path, "/stream") == 0 && strcmp (request.method, "GET") == 0) {
      start_watching (client);
    } else {
      client->server->handler (&request, &reply, client->server->user);
      answer (client, &reply);
    }
  }
  g_strfreev (words);
  g_strfreev (lines);
}

/* Whether more has to be read. */
static gboolean
look_at_request (Client *client)
{
  char *text, *end, *length_text, **lines;
  guint64 length = 0;
  gboolean good = TRUE;

  if (client->request->len > MAX_REQUEST || memchr (client->request->data, 0, client->request->len)) {
    answer_status (client, client->request->len > MAX_REQUEST ? 413 : 400);
    return FALSE;
  }
  text = g_strndup ((char *) client->request->data, client->request->len);
  end = strstr (text, "\r\n\r\n");
  if (!end) {
    g_free (text);
    return TRUE;
  }
  *end = 0;
  lines = g_strsplit (text, "\r\n", -1);
  length_text = lines[0] ? header_value (lines, "Content-Length") : NULL;
  if (length_text)
    good = g_ascii_string_to_unsigned (length_text, 10, 0, MAX_REQUEST, &length, NULL);
  g_free (length_text);
  g_strfreev (lines);
  if (good && strlen (end + 4) < length) {
    g_free (text);
    return TRUE;
  }
  if (good)
    take_request (client, text, end + 4);
  else
    answer_status (client, 413);
  g_free (text);
  return FALSE;
}

static void
was_read (GObject *stream, GAsyncResult *result, gpointer user)
{
  Client *client = user;
  const gssize n = g_input_stream_read_finish (G_INPUT_STREAM (stream), result, NULL);

  client->pending--;
  if (client->closed || n <= 0) {
    drop_client (client);
    return;
  }
  if (client->watches) {
    start_reading (client); /* what a viewer says does not matter */
    return;
  }
  g_byte_array_append (client->request, client->chunk, (guint) n);
  if (look_at_request (client))
    start_reading (client);
}

static void
start_reading (Client *client)
{
  client->pending++;
  g_input_stream_read_async (g_io_stream_get_input_stream (G_IO_STREAM (client->connection)), client->chunk,
                             sizeof client->chunk, G_PRIORITY_DEFAULT, client->cancellable, was_read, client);
}

static gboolean
connected (GSocketService *service, GSocketConnection *connection, GObject *source, gpointer user)
{
  WebServer *server = user;
  Client *client = g_new0 (Client, 1);

  client->server = server;
  client->connection = g_object_ref (connection);
  client->cancellable = g_cancellable_new ();
  client->request = g_byte_array_new ();
  client->head = g_string_new (NULL);
  server->n_clients++;
  server->clients = g_list_prepend (server->clients, client);
  if (g_list_length (server->clients) > MAX_CLIENTS) {
    answer_status (client, 503);
    return TRUE;
  }
  set_timeout (client, REQUEST_SECONDS, give_up);
  start_reading (client);
  return TRUE;
}

/* ---- server --------------------------------------------------------------------------------------- */

WebServer *
web_server_new (const char *address, guint16 port, WebHandler handler, gpointer user, GError **error)
{
  GInetAddress *inet = g_inet_address_new_from_string (address);
  GSocketService *service;
  GSocketAddress *wanted, *got = NULL;
  WebServer *server = NULL;

  if (!inet) {
    g_set_error (error, G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT, "%s is not an address", address);
    return NULL;
  }
  service = g_socket_service_new ();
  wanted = g_inet_socket_address_new (inet, port);
  if (g_socket_listener_add_address (G_SOCKET_LISTENER (service), wanted, G_SOCKET_TYPE_STREAM,
                                     G_SOCKET_PROTOCOL_TCP, NULL, &got, error)) {
    server = g_new0 (WebServer, 1);
    server->service = g_object_ref (service);
    server->port = g_inet_socket_address_get_port (G_INET_SOCKET_ADDRESS (got));
    server->handler = handler;
    server->user = user;
    g_signal_connect (service, "incoming", G_CALLBACK (connected), server);
    g_socket_service_start (service);
  }
  g_clear_object (&got);
  g_object_unref (wanted);
  g_object_unref (inet);
  g_object_unref (service);
  return server;
}

void
web_server_free (WebServer *server)
{
  GMainContext *context = g_main_context_get_thread_default ();

  if (!server)
    return;
  g_socket_service_stop (server->service);
  g_socket_listener_close (G_SOCKET_LISTENER (server->service));
  g_signal_handlers_disconnect_by_data (server->service, server);
  while (server->clients)
    drop_client (server->clients->data);
  while (server->n_clients > 0)
    g_main_context_iteration (context, TRUE);
  g_object_unref (server->service);
  g_free (server);
}

guint16
web_server_port (WebServer *server)
{
  return server->port;
}

guint
web_server_n_viewers (WebServer *server)
{
  guint n = 0;
  GList *item;

  for (item = server->clients; item; item = item->next)
    n += ((Client *) item->data)->watches;
  return n;
}

void
web_server_count (WebServer *server, guint64 *sent, guint64 *missed)
{
  *sent = server->sent;
  *missed = server->missed;
}
