/* SPDX-License-Identifier: MIT */
/*
 * http.h - an HTTP server that answers only the browsers of the user who runs it
 *
 * The server listens on 127.0.0.1 only.  Where the kernel says which user a connection comes from,
 * it closes connections of users other than its own and root.  It answers a request only if all of
 * these hold:
 *  - the request has the token: in the query (token=HEX) for the page itself, else in the header
 *    HTTP_TOKEN_HEADER, which another site cannot make a browser send;
 *  - its Host is 127.0.0.1 or localhost, so that foreign names that resolve to 127.0.0.1 (DNS
 *    rebinding) are refused;
 *  - its Origin, if the browser sends one, is this server.
 * Connections, headers and bodies are bounded, replies give other origins no rights, and nothing is
 * logged.
 *
 * The server has no thread of its own: the caller calls http_serve and http_wait in a loop.
 */
#ifndef LUDWIG_CLIENT_UI_HTTP_H
#define LUDWIG_CLIENT_UI_HTTP_H

#include <stdbool.h>

#include "common/base/buf.h"
#include "common/base/digest.h"
#include "common/base/err.h"

enum {
    HTTP_BODY_MAX_BYTES = 1024 * 1024,
    HTTP_CONNECTIONS_MAX = 64,
    HTTP_HEADERS_MAX = 6,    /* headers that http_add_number can add to a reply */
    HTTP_PATIENCE_MS = 20000 /* a request that waits for news is answered without any after this */
};

/* The request header with the token, in hex. */
#define HTTP_TOKEN_HEADER "Ludwig-Token"

struct http;

/* A request. */
struct http_question {
    const char *path; /* "/data" */
    bool is_change;   /* the method is POST; else GET */
    bool is_patient;  /* the reply may wait for news (http_answer.waits) */
    struct bytes body;
    void *connection; /* for http_argument */
};

/* Returns the value of ?name=VALUE, valid while the request is answered; NULL if there is none. */
const char *http_argument(const struct http_question *q, const char *name);
/* Sets *number to the value of ?name=NUMBER, or to `otherwise` if the request has no such argument.
 * Returns false if the value is not a whole number or is below low. */
bool http_number(const struct http_question *q, const char *name, int64_t low, int64_t otherwise,
                 int64_t *number);

/* A reply, which the http_answer_fn fills in. */
struct http_answer {
    int status;       /* 200 unless the function changes it */
    const char *type; /* Content-Type: JSON unless the function changes it */
    struct buf body;  /* http.c sends and frees it */
    struct {
        const char *name;
        int64_t value;
    } headers[HTTP_HEADERS_MAX];
    size_t n_headers;
    bool waits; /* no news yet: the function is called again after http_wake or HTTP_PATIENCE_MS */
};

/* Adds a header with a number; name must outlive the reply.  Does nothing if HTTP_HEADERS_MAX are
 * there. */
void http_add_number(struct http_answer *a, const char *name, int64_t value);
/* Replaces the reply by {"error": text of e}, with a status for the error's kind. */
void http_refuse(struct http_answer *a, const struct err *e);

typedef void (*http_answer_fn)(void *context, const struct http_question *q, struct http_answer *a);

/* Listens on this port of 127.0.0.1 (0: any free one) and answers requests with the function.
 * Returns NULL with e set on error: ERR_EXISTS if the port is taken, ERR_FAILED if libmicrohttpd is
 * missing. */
struct http *http_open(int port, const struct token *token, http_answer_fn answer, void *context,
                       struct err *e);
int http_port(const struct http *h);
void http_close(struct http *h); /* NULL is fine */

/* Serves all connections as far as possible without waiting.  Returns 0, or -1 with e set. */
int http_serve(struct http *h, struct err *e);
/* Waits until a connection needs service, one of the n fds is readable (-1: no descriptor) or the
 * time is over (at most a second), then serves connections.  Between http_serve and this call no
 * descriptor may be closed.  Returns 0, or -1 with e set. */
int http_wait(struct http *h, const int *fds, size_t n, int timeout_ms, struct err *e);
/* Call this when there is news: waiting requests are then passed to the function again. */
void http_wake(struct http *h);
/* Whether a request waits for news, that is, a page is open. */
bool http_has_waiting(const struct http *h);

/* ---- for tests ---- */

/* Whether the header Host is 127.0.0.1 or localhost, with or without a port. */
bool http_is_our_host(const char *host);
/* Whether the header Origin is this server, given the header Host. */
bool http_is_our_origin(const char *origin, const char *host);

#endif
