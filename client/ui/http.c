/* SPDX-License-Identifier: MIT */
/* http.c - an HTTP server that answers only the browsers of the user who runs it */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <unistd.h>
#include <openssl/crypto.h>

#include "client/ui/http.h"
#include "client/ui/peer_user.h"
#include "common/base/mem.h"
#include "common/base/quote.h"
#include "common/base/units.h"

enum {
    IDLE_S = 15,                         /* a connection without traffic is closed after this */
    CONNECTION_MEMORY_BYTES = 32 * 1024, /* room for a request's headers */
    ROUND_MS = 1000 /* longest wait of http_wait, so that http_serve finds requests to answer now */
};

/* A request in progress; libmicrohttpd keeps a pointer to it for each connection. */
struct asked {
    struct http *http;
    struct MHD_Connection *connection;
    struct asked *next; /* in the list http.waiting */
    struct buf body;
    int64_t began_at_ms;
    bool is_waiting;
};

struct http {
    struct MHD_Daemon *daemon;
    char token[TOKEN_HEX];
    http_answer_fn answer;
    void *context;
    int port;
    struct asked *waiting; /* requests that wait for news; their connections are suspended */
    bool is_closing;
};

/* ---- the library ---- */

/* clang-format off */
#undef MHD_get_fdset /* a macro that would call MHD_get_fdset2 */
#define FUNCTIONS(X)                                                                        \
    X(start_daemon) X(stop_daemon) X(run) X(run_from_select) X(get_fdset) X(get_timeout)    \
    X(get_daemon_info) X(suspend_connection) X(resume_connection)                           \
    X(lookup_connection_value) X(create_response_from_buffer) X(add_response_header)        \
    X(queue_response) X(destroy_response)
/* clang-format on */

/* Functions of libmicrohttpd.  It is loaded only when needed, because loading it and the libraries
 * that it uses takes longer than most commands run. */
static struct {
#define X(name) __typeof__(&MHD_##name) name;
    FUNCTIONS(X)
#undef X
} mhd;

static int load_library(struct err *e)
{
#ifdef __APPLE__
    static const char *const names[] = { "libmicrohttpd.12.dylib", "libmicrohttpd.dylib",
                                         "/opt/homebrew/lib/libmicrohttpd.dylib",
                                         "/usr/local/lib/libmicrohttpd.dylib" };
#else
    static const char *const names[] = { "libmicrohttpd.so.12", "libmicrohttpd.so" };
#endif
    void *library = NULL;

    for (size_t i = 0; i < sizeof names / sizeof names[0] && library == NULL; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return err_set(e, ERR_FAILED,
                       "the page needs libmicrohttpd, which is not installed here (Debian and "
                       "Ubuntu: apt install libmicrohttpd12; macOS: brew install libmicrohttpd)");
#define X(name)                                         \
    *(void **)&mhd.name = dlsym(library, "MHD_" #name); \
    if (mhd.name == NULL)                               \
        return err_set(e, ERR_FAILED, "libmicrohttpd is too old: it has no MHD_" #name);
    FUNCTIONS(X)
#undef X
    return 0;
}

/* ---- checks of a request ---- */

static bool is_port(const char *text)
{
    size_t n = strspn(text, "0123456789");

    return n >= 1 && n <= 5 && text[n] == '\0';
}

bool http_is_our_host(const char *host)
{
    static const char *const names[] = { "127.0.0.1", "localhost" };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t n = strlen(names[i]);

        if (strncmp(host, names[i], n) == 0 &&
            (host[n] == '\0' || (host[n] == ':' && is_port(host + n + 1))))
            return true;
    }
    return false;
}

bool http_is_our_origin(const char *origin, const char *host)
{
    static const char scheme[] = "http://";

    return strncmp(origin, scheme, strlen(scheme)) == 0 &&
           strcmp(origin + strlen(scheme), host) == 0;
}

static bool is_token(const struct http *h, const char *given)
{
    return given != NULL && strlen(given) == TOKEN_HEX - 1 &&
           CRYPTO_memcmp(given, h->token, TOKEN_HEX - 1) == 0;
}

/* Status and message of a refused request. */
struct refusal {
    int status;
    const char *why; /* NULL: not refused */
};

/* Decides by the headers whether a request is refused, before its body is read. */
static struct refusal check(const struct http *h, struct MHD_Connection *c, const char *path,
                            const char *method)
{
    const char *host = mhd.lookup_connection_value(c, MHD_HEADER_KIND, "Host");
    const char *origin = mhd.lookup_connection_value(c, MHD_HEADER_KIND, "Origin");
    const char *site = mhd.lookup_connection_value(c, MHD_HEADER_KIND, "Sec-Fetch-Site");
    const char *length = mhd.lookup_connection_value(c, MHD_HEADER_KIND, "Content-Length");
    const char *type = mhd.lookup_connection_value(c, MHD_HEADER_KIND, "Content-Type");
    bool is_page = strcmp(path, "/") == 0, is_post = strcmp(method, "POST") == 0;
    const char *token = is_page
                            ? mhd.lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "token")
                            : mhd.lookup_connection_value(c, MHD_HEADER_KIND, HTTP_TOKEN_HEADER);

    if (!is_post && strcmp(method, "GET") != 0)
        return (struct refusal){ 405, "only GET and POST are answered here" };
    if (host == NULL || !http_is_our_host(host))
        return (struct refusal){ 403, "this is reached as 127.0.0.1 or localhost only" };
    if (origin != NULL && !http_is_our_origin(origin, host))
        return (struct refusal){ 403, "another site may not ask here" };
    if (!is_page && site != NULL && strcmp(site, "same-origin") != 0)
        return (struct refusal){ 403, "another site may not ask here" };
    if (!is_token(h, token))
        return (struct refusal){
            403, "take the address that `ludwig ui` has printed: it carries a token, "
                 "which is another one each time"
        };
    if (is_post && (length == NULL || strtoull(length, NULL, 10) > HTTP_BODY_MAX_BYTES))
        return (struct refusal){ 413, "the question is too large" };
    if (is_post && (type == NULL || strcmp(type, "application/json") != 0))
        return (struct refusal){ 415, "a change is asked for in JSON" };
    return (struct refusal){ 0, NULL };
}

/* Decides whether to accept a connection.  Refuses other users, who could otherwise occupy all
 * connections; root is accepted, as a root process may forward connections, for example from a
 * virtual machine. */
static enum MHD_Result let_in(void *context, const struct sockaddr *from, socklen_t n)
{
    const struct http *h = context;
    const struct sockaddr_in own = { .sin_family = AF_INET,
                                     .sin_port = htons((uint16_t)h->port),
                                     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct sockaddr_in peer;
    uid_t uid;

    if (from->sa_family != AF_INET || n < (socklen_t)sizeof peer)
        return MHD_NO;
    memcpy(&peer, from, sizeof peer);
    return !peer_user_find(&peer, &own, &uid) || uid == 0 || uid == geteuid() ? MHD_YES : MHD_NO;
}

/* ---- replies ---- */

void http_add_number(struct http_answer *a, const char *name, int64_t value)
{
    if (a->n_headers == HTTP_HEADERS_MAX)
        return;
    a->headers[a->n_headers].name = name;
    a->headers[a->n_headers++].value = value;
}

void http_refuse(struct http_answer *a, const struct err *e)
{
    a->status = e->kind == ERR_USAGE         ? 400
                : e->kind == ERR_DENIED      ? 403
                : e->kind == ERR_NOT_FOUND   ? 404
                : e->kind == ERR_UNREACHABLE ? 503
                                             : 500;
    a->type = "application/json";
    a->n_headers = 0;
    a->waits = false;
    buf_clear(&a->body);
    buf_add_str(&a->body, "{\"error\":");
    quote_add(&a->body, e->text, strlen(e->text));
    buf_add_str(&a->body, "}");
}

/* Headers of every reply.  The policy for what the page may load and run is in the page itself. */
static const char *const headers[][2] = {
    { "Cache-Control", "no-store" },
    { "Referrer-Policy", "no-referrer" },
    { "X-Content-Type-Options", "nosniff" },
    { "X-Frame-Options", "DENY" },
    { "Cross-Origin-Resource-Policy", "same-origin" },
    { "Cross-Origin-Opener-Policy", "same-origin" },
};

static enum MHD_Result send_answer(struct MHD_Connection *c, struct http_answer *a, bool is_page)
{
    size_t n = a->body.n;
    struct MHD_Response *response =
        mhd.create_response_from_buffer(n, n > 0 ? (void *)buf_take(&a->body) : NULL,
                                        n > 0 ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
    enum MHD_Result result;

    buf_free(&a->body);
    if (response == NULL)
        return MHD_NO;
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++)
        (void)mhd.add_response_header(response, headers[i][0], headers[i][1]);
    (void)mhd.add_response_header(response, "Content-Security-Policy",
                                  is_page ? "frame-ancestors 'none'"
                                          : "default-src 'none'; frame-ancestors 'none'; sandbox");
    (void)mhd.add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, a->type);
    if (a->status == 405)
        (void)mhd.add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, POST");
    if (a->status >= 400)
        (void)mhd.add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    for (size_t i = 0; i < a->n_headers; i++) {
        struct buf number = { 0 };

        buf_printf(&number, "%lld", (long long)a->headers[i].value);
        (void)mhd.add_response_header(response, a->headers[i].name, buf_text(&number));
        buf_free(&number);
    }
    result = mhd.queue_response(c, (unsigned)a->status, response);
    mhd.destroy_response(response);
    return result;
}

static enum MHD_Result refuse(struct MHD_Connection *c, const struct refusal *r)
{
    struct http_answer a = { .status = r->status, .type = "text/plain; charset=utf-8" };

    buf_printf(&a.body, "%s\n", r->why);
    return send_answer(c, &a, false);
}

/* ---- requests ---- */

const char *http_argument(const struct http_question *q, const char *name)
{
    return mhd.lookup_connection_value(q->connection, MHD_GET_ARGUMENT_KIND, name);
}

bool http_number(const struct http_question *q, const char *name, int64_t low, int64_t otherwise,
                 int64_t *number)
{
    const char *text = http_argument(q, name);
    char *end;

    *number = otherwise;
    if (text == NULL)
        return true;
    errno = 0;
    *number = strtoll(text, &end, 10);
    return errno == 0 && end != text && *end == '\0' && *number >= low;
}

static void stop_waiting(struct asked *asked)
{
    struct asked **at = &asked->http->waiting;

    while (*at != NULL && *at != asked)
        at = &(*at)->next;
    if (*at != NULL)
        *at = asked->next;
    asked->is_waiting = false;
}

/* Answers the request, or suspends its connection until there is news. */
static enum MHD_Result answer(struct asked *asked, struct MHD_Connection *c, const char *path,
                              bool is_change)
{
    struct http *h = asked->http;
    struct http_question q = { .path = path,
                               .is_change = is_change,
                               .is_patient =
                                   !h->is_closing &&
                                   units_monotonic_ms() < asked->began_at_ms + HTTP_PATIENCE_MS,
                               .body = buf_bytes(&asked->body),
                               .connection = c };
    struct http_answer a = { .status = 200, .type = "application/json" };

    h->answer(h->context, &q, &a);
    if (!a.waits || !q.is_patient)
        return send_answer(c, &a, strcmp(path, "/") == 0);
    buf_free(&a.body);
    asked->is_waiting = true;
    asked->next = h->waiting;
    h->waiting = asked;
    mhd.suspend_connection(c);
    return MHD_YES;
}

/* libmicrohttpd calls this after the headers, for each part of the body, after the body, and when a
 * suspended connection is resumed. */
static enum MHD_Result take(void *context, struct MHD_Connection *c, const char *path,
                            const char *method, const char *version, const char *body,
                            size_t *body_bytes, void **kept)
{
    struct http *h = context;
    struct asked *asked = *kept;

    (void)version;
    if (asked == NULL) {
        struct refusal refusal = check(h, c, path, method);

        if (refusal.why != NULL)
            return refuse(c, &refusal);
        asked = mem_alloc(sizeof *asked);
        *asked = (struct asked){ .http = h, .connection = c, .began_at_ms = units_monotonic_ms() };
        *kept = asked;
        return MHD_YES;
    }
    if (*body_bytes > 0) {
        if (asked->body.n + *body_bytes > HTTP_BODY_MAX_BYTES)
            return MHD_NO;
        buf_add(&asked->body, body, *body_bytes);
        *body_bytes = 0;
        return MHD_YES;
    }
    return answer(asked, c, path, strcmp(method, "POST") == 0);
}

static void forget(void *context, struct MHD_Connection *c, void **kept,
                   enum MHD_RequestTerminationCode why)
{
    struct asked *asked = *kept;

    (void)context;
    (void)c;
    (void)why;
    if (asked == NULL)
        return;
    if (asked->is_waiting)
        stop_waiting(asked);
    buf_free(&asked->body);
    free(asked);
    *kept = NULL;
}

/* ---- the server ---- */

struct http *http_open(int port, const struct token *token, http_answer_fn answer_fn, void *context,
                       struct err *e)
{
    struct sockaddr_in at = { .sin_family = AF_INET,
                              .sin_port = htons((uint16_t)port),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    const union MHD_DaemonInfo *info;
    struct http *h;

    if (load_library(e) < 0)
        return NULL;
    h = mem_alloc(sizeof *h);
    *h = (struct http){ .answer = answer_fn, .context = context };
    token_hex(token, h->token);
    errno = 0;
    h->daemon = mhd.start_daemon(
        MHD_ALLOW_SUSPEND_RESUME, (uint16_t)port, let_in, h, take, h, MHD_OPTION_SOCK_ADDR,
        (struct sockaddr *)&at, MHD_OPTION_NOTIFY_COMPLETED, forget, h, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)HTTP_CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY_BYTES,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
    if (h->daemon == NULL) {
        if (errno == EADDRINUSE)
            err_set(e, ERR_EXISTS,
                    "port %d of 127.0.0.1 is taken: name another one with --port, or none", port);
        else
            err_sys(e, "listening on port %d of 127.0.0.1", port);
        free(h);
        return NULL;
    }
    info = mhd.get_daemon_info(h->daemon, MHD_DAEMON_INFO_BIND_PORT);
    h->port = info != NULL ? info->port : port;
    return h;
}

int http_port(const struct http *h)
{
    return h->port;
}

void http_wake(struct http *h)
{
    while (h->waiting != NULL) {
        struct asked *asked = h->waiting;

        stop_waiting(asked);
        mhd.resume_connection(asked->connection);
    }
}

bool http_has_waiting(const struct http *h)
{
    return h->waiting != NULL;
}

void http_close(struct http *h)
{
    if (h == NULL)
        return;
    h->is_closing = true;
    http_wake(h); /* the daemon must not be stopped while a connection is suspended */
    (void)mhd.run(h->daemon);
    mhd.stop_daemon(h->daemon);
    free(h);
}

/* Resumes requests that have waited for HTTP_PATIENCE_MS: they are answered without news. */
static void wake_impatient(struct http *h)
{
    int64_t before_ms = units_monotonic_ms() - HTTP_PATIENCE_MS;

    for (struct asked *asked = h->waiting, *next; asked != NULL; asked = next) {
        next = asked->next;
        if (asked->began_at_ms > before_ms)
            continue;
        stop_waiting(asked);
        mhd.resume_connection(asked->connection);
    }
}

int http_serve(struct http *h, struct err *e)
{
    wake_impatient(h);
    return mhd.run(h->daemon) == MHD_YES ? 0
                                         : err_set(e, ERR_INTERNAL, "the page's server has failed");
}

int http_wait(struct http *h, const int *fds, size_t n, int timeout_ms, struct err *e)
{
    fd_set reads, writes, others;
    MHD_UNSIGNED_LONG_LONG patience_ms;
    struct timeval patience;
    int most = -1;

    FD_ZERO(&reads);
    FD_ZERO(&writes);
    FD_ZERO(&others);
    if (mhd.get_fdset(h->daemon, &reads, &writes, &others, &most) != MHD_YES)
        return err_set(e, ERR_INTERNAL, "the page's server has failed");
    for (size_t i = 0; i < n; i++) {
        if (fds[i] >= FD_SETSIZE)
            return err_set(e, ERR_INTERNAL, "too many files are open");
        if (fds[i] >= 0)
            FD_SET(fds[i], &reads);
        most = fds[i] > most ? fds[i] : most;
    }
    timeout_ms = timeout_ms < 0 || timeout_ms > ROUND_MS ? ROUND_MS : timeout_ms;
    if (mhd.get_timeout(h->daemon, &patience_ms) == MHD_YES &&
        patience_ms < (MHD_UNSIGNED_LONG_LONG)timeout_ms)
        timeout_ms = (int)patience_ms;
    patience = (struct timeval){ timeout_ms / 1000, timeout_ms % 1000 * 1000 };
    if (select(most + 1, &reads, &writes, &others, &patience) < 0) {
        if (errno != EINTR)
            return err_sys(e, "select");
        FD_ZERO(&reads);
        FD_ZERO(&writes);
        FD_ZERO(&others);
    }
    if (mhd.run_from_select(h->daemon, &reads, &writes, &others) != MHD_YES)
        return err_set(e, ERR_INTERNAL, "the page's server has failed");
    return 0;
}
