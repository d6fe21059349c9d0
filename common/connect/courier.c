/* SPDX-License-Identifier: MIT */
/* courier.c - carries a stream as requests and replies that are files, to its end */
#include "common/connect/courier.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "common/base/io.h"
#include "common/base/units.h"
#include "common/connect/file_request.h"
#include "common/proto/layout.h"
#include "common/proto/proto.h"
#include "common/proto/shareid.h"
#include "common/proto/unixsocket.h"
#include "common/sftp/sftp.h"
#include "common/share/share.h"

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0 /* SIGPIPE is ignored here */
#endif

#define ID_PATH LAYOUT_SERVER_DIR "/" SHAREID_NAME

enum {
    /* How long ludwigd may leave a file untaken; it is notified, or lists the inbox every 30 s. */
    PATIENCE_WATCHED_MS = 30 * 1000,
    PATIENCE_LISTED_MS = 90 * 1000,
    ID_EVERY_MS = 3000,
    PART_MAX_MS = 3000, /* how long ludwigd has to take the end */
    ASK_AFTER_MS = 20,  /* before an empty request, as the program often has its own by then */
    MORE_COMES_BYTES = 64 * 1024,
    DOWN_MAX_BYTES = 4 * 1024 * 1024, /* so much is kept for a program that reads slowly */
    PAUSE_MIN_MS = 1,
    PAUSE_MAX_MS = 1000
};

struct courier {
    struct sftp *sftp; /* NULL: the share is mounted here */
    struct share_dir *share;
    char *inbox; /* the user's, below the share */
    uid_t uid;   /* of the user on the server */
    mode_t file_mode;
    char *server, *host;
    struct token incarnation;
    int64_t patience_ms;
};

static void courier_close(struct courier *c)
{
    share_close(c->share);
    if (c->sftp != NULL)
        sftp_close(c->sftp);
    free(c->inbox);
    free(c->server);
    free(c->host);
    free(c);
}

/* ---- checks before the first byte ---- */

static int read_id(struct courier *c, struct err *e)
{
    struct arena *a = arena_create();
    struct buf text = { 0 };
    struct shareid id;
    struct err why = { 0 };
    int rc = share_read(c->share, ID_PATH, SHAREID_MAX_BYTES, &text, &why);

    if (rc < 0) {
        err_set(e, why.kind, "%s%s",
                why.kind == ERR_NOT_FOUND ? "no ludwigd has made this folder its share: " : "",
                why.text);
        goto out;
    }
    rc = shareid_decode(&id, buf_bytes(&text), a, e);
    if (rc < 0)
        goto out;
    if (id.incarnation == NULL || token_parse(id.incarnation, &c->incarnation) < 0) {
        rc = err_set(e, ERR_UNREACHABLE, "ludwigd on %s was stopped", id.host);
    } else if (id.inbox == INBOX_NONE) {
        rc = err_set(e, ERR_DENIED, "ludwigd on %s takes nothing from its inbox%s%s", id.host,
                     id.why != NULL ? ": " : "", id.why != NULL ? id.why : "");
    } else {
        c->server = mem_strdup(id.server);
        c->host = mem_strdup(id.host);
        c->patience_ms = id.inbox == INBOX_WATCHED ? PATIENCE_WATCHED_MS : PATIENCE_LISTED_MS;
    }
out:
    buf_free(&text);
    arena_destroy(a);
    return rc;
}

static int parse_uid(const char *text, uid_t *uid)
{
    char *end;
    unsigned long number = strtoul(text, &end, 10);

    if (text[0] < '0' || text[0] > '9' || *end != '\0' || number >= UINT32_MAX)
        return -1;
    *uid = (uid_t)number;
    return 0;
}

static int refuse_without_folder(const char *path, const char *user, struct err *e)
{
    return err_set(e, ERR_NOT_FOUND,
                   "ludwigd has no inbox for you (%s): an administrator of the server makes it "
                   "with: install -d -o %s -m 700 %s",
                   path, user, path);
}

/* Finds the one inbox folder that this account may enter; only root may enter root's. */
static int find_uid_by_trying(struct courier *c, const char *user, struct err *e)
{
    struct arena *a = arena_create();
    struct list entries = { 0 };
    int found = 0, rc = share_list(c->share, FILE_REQUEST_INBOX, SHARE_NAMES, a, &entries, e);
    const struct share_entry *items = entries.items;
    bool is_root = false;

    for (size_t i = 0; rc == 0 && i < entries.n; i++) {
        char *inside = mem_printf(FILE_REQUEST_INBOX "/%s", items[i].name);
        struct list requests = { 0 };
        uid_t uid;

        if (parse_uid(items[i].name, &uid) == 0 && !is_root &&
            share_list(c->share, inside, SHARE_NAMES, a, &requests, NULL) == 0) {
            is_root = uid == 0;
            c->uid = uid;
            found = is_root ? 1 : found + 1;
        }
        free(inside);
    }
    arena_destroy(a);
    if (rc == 0 && found != 1)
        rc = refuse_without_folder(FILE_REQUEST_INBOX "/UID", user != NULL ? user : "USER", e);
    return rc;
}

/* Refuses an inbox that ludwigd would not trust. */
static int check_inbox(struct courier *c, struct err *e)
{
    char *where = share_where(c->share, c->inbox);
    struct share_stat st;
    struct err why = { 0 };
    int rc = -1;

    if (share_stat(c->share, c->inbox, &st, &why) < 0) {
        if (why.kind == ERR_NOT_FOUND)
            refuse_without_folder(where, "$USER", e);
        else
            err_set(e, why.kind, "inbox: %s", why.text);
    } else if (st.type != SHARE_FOLDER) {
        err_set(e, ERR_DENIED, "%s is no folder, so ludwigd takes nothing from it", where);
    } else if (st.uid != c->uid) {
        err_set(e, ERR_DENIED,
                "%s belongs to uid %" PRId64 ", so ludwigd takes nothing of uid %u from it", where,
                st.uid, c->uid);
    } else if ((st.mode & (S_IWGRP | S_IWOTH)) != 0) {
        err_set(e, ERR_DENIED,
                "others may write into %s, so ludwigd takes nothing from it (chmod go-w it)",
                where);
    } else {
        c->file_mode = 0600 | (st.mode & 0044);
        rc = 0;
    }
    free(where);
    return rc;
}

static struct courier *prepare_courier(struct courier *c, const char *user, struct err *e)
{
    int rc = c->share == NULL ? -1 : read_id(c, e);
    char *link, *uid = NULL;

    if (rc == 0 && c->sftp == NULL) {
        c->uid = geteuid();
    } else if (rc == 0) {
        /* The link with the account's name leads to the inbox, where there is one. */
        if (user != NULL) {
            link = mem_printf(FILE_REQUEST_INBOX "/" FILE_REQUEST_OF_USER "%s", user);
            uid = share_read_link(c->share, link, NULL);
            free(link);
        }
        if (uid == NULL || parse_uid(uid, &c->uid) < 0)
            rc = find_uid_by_trying(c, user, e);
        free(uid);
    }
    if (rc == 0) {
        c->inbox = mem_printf(FILE_REQUEST_INBOX "/%u", c->uid);
        rc = check_inbox(c, e);
    }
    if (rc == 0)
        return c;
    courier_close(c);
    return NULL;
}

struct courier *courier_over_sftp(int sftp_fd, const char *share, const char *user, struct err *e)
{
    struct sftp *sftp = sftp_open(sftp_fd, e);
    struct courier *c;

    if (sftp == NULL)
        return NULL;
    c = mem_alloc(sizeof *c);
    c->sftp = sftp;
    c->share = share_open_sftp(sftp, strcmp(share, "/") == 0 ? "" : share);
    return prepare_courier(c, user, e);
}

struct courier *courier_over_folder(const char *share, struct err *e)
{
    struct courier *c = mem_alloc(sizeof *c);

    c->share = share_open_mount(share, e);
    return prepare_courier(c, NULL, e);
}

/* ---- the process ---- */

/* Becomes the courier, in a child of its own, so that the program need not wait for it. */
_Noreturn static void become_courier(struct courier *c, int fd)
{
    static const int passed_over[] = { SIGHUP, SIGINT, SIGPIPE, SIGQUIT, SIGTERM };
    pid_t pid = fork();
    sigset_t none;
    int null;

    if (pid != 0)
        _exit(pid < 0 ? 1 : 0);
    /* Ctrl-C at the terminal ends the command, and Slurm tells a pilot of its end by a SIGTERM to
     * all of its processes: the courier brings the last messages as well.  It ends when its program
     * has closed the socket. */
    sigemptyset(&none);
    for (int i = 1; i < NSIG; i++)
        if (i != SIGKILL && i != SIGSTOP)
            (void)signal(i, SIG_DFL);
    for (size_t i = 0; i < sizeof passed_over / sizeof *passed_over; i++)
        (void)signal(passed_over[i], SIG_IGN);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)setsid();
    null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int i = 0; i < 3 && null >= 0; i++)
        (void)dup2(null, i);
    io_close_all_but((const int[]){ fd, share_fd(c->share) }, 2);
    _exit(courier_run(c, fd, NULL) < 0 ? 1 : 0);
}

int courier_start(struct courier *c, struct err *e)
{
    int ends[2], status = 0;
    pid_t pid;

    if (unixsocket_pair(ends, e) < 0) {
        courier_close(c);
        return -1;
    }
    pid = fork();
    if (pid == 0)
        become_courier(c, ends[1]);
    if (pid < 0)
        err_sys(e, "fork");
    /* waitpid fails where a handler of SIGCHLD has waited for the child already. */
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (pid > 0 && status != 0)
        pid = err_set(e, ERR_FAILED, "the courier could not be started: fork failed");
    courier_close(c);
    close(ends[1]);
    if (pid > 0)
        return ends[0];
    close(ends[0]);
    return -1;
}

/* ---- the stream ---- */

struct stream {
    struct courier *c;
    int fd;
    struct token conn;
    struct buf input; /* read from fd, in no request yet */
    struct buf down;  /* from replies, not written to fd yet */
    struct buf file;
    struct arena *arena; /* of the reply at hand */

    int64_t n_put;     /* requests put into the inbox */
    int64_t n_replied; /* requests with a reply */
    int64_t n_removed; /* requests removed again */
    int64_t put_ms;    /* since when ludwigd owes the next reply */
    int64_t end_ms;    /* when a request with is_end was put; 0: none was */
    int64_t since_ms;  /* when the last reply came */
    int64_t id_ms;     /* when the id was read */
    int pause_ms;
    bool is_input_over, has_heard_end, has_swept;
    bool is_deaf; /* the program has closed the other end of fd */
    int n_points; /* for tests */
};

#ifdef LUDWIG_TEST_HOOKS
/* Dies at the point whose number a test names, once: it creates the file $LUDWIG_CRASH_ONCE. */
static void crash_point(struct stream *s)
{
    const char *at = getenv("LUDWIG_COURIER_CRASH"), *once = getenv("LUDWIG_CRASH_ONCE");
    int fd;

    if (at == NULL || once == NULL || s->n_points++ != atoi(at))
        return;
    fd = open(once, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0)
        (void)raise(SIGKILL);
}
#else
static void crash_point(struct stream *s)
{
    (void)s;
}
#endif

static char *request_path(const struct stream *s, int64_t no, const char *before)
{
    char name[FILE_REQUEST_NAME_BYTES];

    file_request_name(name, &s->conn, no);
    return mem_printf("%s/%s%s", s->c->inbox, before, name);
}

/* The file is not synced: the program connects again if the machine dies. */
static int put_request(struct stream *s, struct err *e)
{
    char *temporary = request_path(s, s->n_put, FILE_REQUEST_TEMPORARY);
    char *path = request_path(s, s->n_put, "");
    struct file_request r = { .v = FILE_REQUEST_VERSION,
                              .server = s->c->server,
                              .incarnation = s->c->incarnation,
                              .conn = s->conn,
                              .no = s->n_put,
                              .data = buf_bytes(&s->input),
                              .is_end = s->is_input_over };
    int rc;

    buf_clear(&s->file);
    file_request_encode(&r, &s->file);
    crash_point(s);
    rc = share_write(s->c->share, temporary, s->file.bytes, s->file.n, s->c->file_mode, e);
    if (rc == 0)
        rc = share_rename(s->c->share, temporary, s->c->share, path, /* NOLINT */
                          e);
    crash_point(s);
    free(temporary);
    free(path);
    if (rc < 0)
        return err_wrap(e, "inbox");
    buf_clear(&s->input);
    if (s->n_put++ == s->n_replied)
        s->put_ms = units_monotonic_ms();
    if (r.is_end && s->end_ms == 0)
        s->end_ms = units_monotonic_ms();
    return 0;
}

/* Reads the bytes that have come, up to one request.  After many it waits 1 ms for more, as a
 * writer that waited for room writes on at once: else a long message would travel in pieces as
 * small as the socket's buffer. */
static int read_input(struct stream *s, struct err *e)
{
    struct pollfd more = { .fd = s->fd, .events = POLLIN };

    while (s->input.n < FILE_REQUEST_DATA_MAX && !s->is_input_over) {
        size_t room = FILE_REQUEST_DATA_MAX - s->input.n;
        ssize_t n = recv(s->fd, buf_reserve(&s->input, room), room, MSG_DONTWAIT);

        if (n > 0)
            buf_added(&s->input, (size_t)n);
        else if (n == 0 || errno == ECONNRESET)
            s->is_input_over = true;
        else if (errno == EAGAIN && (s->input.n < MORE_COMES_BYTES || poll(&more, 1, 1) <= 0))
            return 0;
        else if (errno != EAGAIN && errno != EINTR)
            return err_sys(e, "courier");
    }
    return 0;
}

static bool may_put(const struct stream *s)
{
    return s->n_put - s->n_replied < (s->end_ms == 0 ? FILE_REQUEST_AHEAD : 1) && !s->has_heard_end;
}

/* Milliseconds until an empty request is due; -1: none is due, as ludwigd holds a request or the
 * stream has ended. */
static int64_t ask_in_ms(const struct stream *s)
{
    int64_t left_ms = s->since_ms + ASK_AFTER_MS - units_monotonic_ms();

    if (s->n_put == 0 || s->n_put > s->n_replied || s->has_heard_end || s->down.n > DOWN_MAX_BYTES)
        return -1;
    return left_ms > 0 ? left_ms : 0;
}

/* Puts the requests that are due; returns 1 when there were any, else 0, or -1 with e set. */
static int put_requests(struct stream *s, struct err *e)
{
    int n = 0;

    while (may_put(s)) {
        if (read_input(s, e) < 0)
            return -1;
        if (s->input.n == 0 && ask_in_ms(s) != 0 &&
            (!s->is_input_over || s->end_ms != 0 || s->n_put == 0))
            break;
        if (put_request(s, e) < 0)
            return -1;
        n = 1;
    }
    return n;
}

static int remove_requests(struct stream *s, int64_t up_to, struct err *e)
{
    for (; s->n_removed < up_to; s->n_removed++) {
        char *path = request_path(s, s->n_removed, "");
        struct err why = { 0 };

        if (share_remove_file(s->c->share, path, &why) < 0 && why.kind != ERR_NOT_FOUND)
            err_set(e, why.kind, "inbox: %s", why.text);
        free(path);
        if (why.kind != ERR_NONE && why.kind != ERR_NOT_FOUND)
            return -1;
    }
    return 0;
}

/* Takes replies in order up to the first that is missing; returns as put_requests. */
static int take_replies(struct stream *s, struct err *e)
{
    int n = 0;

    while (s->n_replied < s->n_put && !s->has_heard_end && s->down.n <= DOWN_MAX_BYTES) {
        char name[FILE_REQUEST_NAME_BYTES], *path;
        struct err why = { 0 };
        struct file_reply r;

        file_request_reply_name(name, s->c->uid, &s->conn, s->n_replied);
        path = mem_printf(FILE_REQUEST_OUTBOX "/%s", name);
        buf_clear(&s->file);
        (void)share_read(s->c->share, path, FILE_REQUEST_MAX_BYTES + 1, &s->file, &why);
        free(path);
        if (why.kind == ERR_NOT_FOUND)
            break;
        if (why.kind != ERR_NONE)
            return err_set(e, why.kind, "outbox: %s", why.text);
        arena_reset(s->arena);
        if (file_request_decode_reply(&r, buf_bytes(&s->file), s->arena, e) < 0)
            return err_wrap(e, "outbox");
        if (strcmp(r.server, s->c->server) != 0 || !token_equal(&r.conn, &s->conn) ||
            r.no != s->n_replied)
            return err_set(e, ERR_PROTOCOL, "outbox: reply %" PRId64 " says what its name does not",
                           s->n_replied);
        if (r.why != NULL)
            return err_set(e, ERR_UNREACHABLE, "ludwigd on %s gave the connection up: %s",
                           s->c->host, r.why);
        s->n_replied++;
        s->put_ms = s->since_ms = units_monotonic_ms();
        s->has_heard_end = r.is_end;
        if (!s->is_deaf)
            buf_add(&s->down, r.data.data, r.data.n);
        n = 1;
    }
    return n;
}

static int look_at_id(struct stream *s, struct err *e)
{
    struct shareid id;
    struct token now;

    if (s->n_put == 0 || units_monotonic_ms() - s->id_ms < ID_EVERY_MS)
        return 0;
    s->id_ms = units_monotonic_ms();
    arena_reset(s->arena);
    buf_clear(&s->file);
    if (share_read(s->c->share, ID_PATH, SHAREID_MAX_BYTES, &s->file, NULL) < 0 ||
        shareid_decode(&id, buf_bytes(&s->file), s->arena, NULL) < 0)
        return 0; /* the next turn reads it again */
    if (id.incarnation == NULL)
        return err_set(e, ERR_UNREACHABLE, "ludwigd on %s was stopped", s->c->host);
    if (token_parse(id.incarnation, &now) == 0 && token_equal(&now, &s->c->incarnation))
        return 0;
    return err_set(e, ERR_UNREACHABLE, "ludwigd on %s was started anew", s->c->host);
}

static void give_down(struct stream *s)
{
    while (s->down.n > 0 && !s->is_deaf) {
        ssize_t n = send(s->fd, s->down.bytes, s->down.n, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (n > 0)
            buf_drop_front(&s->down, (size_t)n);
        else if (n < 0 && errno == EAGAIN)
            return;
        else if (n < 0 && errno != EINTR)
            s->is_deaf = true;
    }
    if (s->is_deaf)
        buf_clear(&s->down);
}

static int do_turn(struct stream *s, struct err *e)
{
    int n_put = put_requests(s, e), n_taken;
    int64_t most_ms;

    /* Requests are removed while ludwigd works on those just put. */
    if (n_put < 0 || remove_requests(s, s->n_replied, e) < 0)
        return -1;
    n_taken = take_replies(s, e);
    if (n_taken < 0 || look_at_id(s, e) < 0)
        return -1;
    /* The first request is not held: it has bytes, and ludwigd has an answer to them. */
    most_ms = s->c->patience_ms + (s->n_replied > 0 ? FILE_REQUEST_HOLD_MS : 0);
    if (s->n_put > s->n_replied && units_monotonic_ms() - s->put_ms >= most_ms)
        return err_set(e, ERR_UNREACHABLE, "ludwigd on %s takes nothing from its inbox%s",
                       s->c->host,
                       s->c->sftp == NULL || s->n_replied > 0
                           ? ""
                           : ", or the SFTP server does not show its answer: one that keeps what "
                             "it has listed, as rclone does, has to be told not to "
                             "(--dir-cache-time 1s --vfs-write-back 0)");
    if (n_taken > 0)
        crash_point(s);
    give_down(s);
    if (n_taken > 0)
        crash_point(s);
    if (n_put > 0 || n_taken > 0)
        s->pause_ms = PAUSE_MIN_MS;
    else if (s->pause_ms < PAUSE_MAX_MS)
        s->pause_ms = 2 * s->pause_ms < PAUSE_MAX_MS ? 2 * s->pause_ms : PAUSE_MAX_MS;
    return 0;
}

/* Waits until fd can be read or written, or it is time to look for a reply. */
static void wait_until_due(struct stream *s)
{
    struct pollfd fd = { .fd = s->is_deaf ? -1 : s->fd };
    int64_t ask_ms = ask_in_ms(s);
    int most_ms = s->n_put == 0                         ? -1
                  : ask_ms >= 0 && ask_ms < s->pause_ms ? (int)ask_ms
                                                        : s->pause_ms;

    if (!s->is_input_over && may_put(s))
        fd.events |= POLLIN;
    if (s->down.n > 0)
        fd.events |= POLLOUT;
    if (poll(&fd, 1, most_ms) > 0 && (fd.revents & POLLHUP) != 0 && (fd.revents & POLLIN) == 0)
        s->is_deaf = true;
}

static bool is_done(const struct stream *s)
{
    if (s->has_heard_end)
        return s->down.n == 0;
    if (s->n_put == 0)
        return s->is_input_over;
    return s->end_ms != 0 && s->is_deaf && units_monotonic_ms() - s->end_ms > PART_MAX_MS;
}

/* Removes the files of this user's couriers that died, while the stream is idle; best effort.
 * Clocks of two machines may differ, though not by a day. */
static void sweep_once(struct stream *s, bool has_time)
{
    struct arena *a;
    struct list entries = { 0 };
    const struct share_entry *items;

    if (!has_time || s->has_swept)
        return;
    s->has_swept = true;
    a = arena_create();
    if (share_list(s->c->share, s->c->inbox, SHARE_STATS, a, &entries, NULL) < 0)
        entries.n = 0;
    items = entries.items;
    for (size_t i = 0; i < entries.n; i++) {
        struct token conn;
        int64_t no;
        bool is_temporary;

        if (file_request_parse_name(items[i].name, &conn, &no, &is_temporary) == 0 &&
            items[i].stat.mtime_s * 1000 < units_now_ms() - FILE_REQUEST_STALE_MS) {
            char *path = mem_printf("%s/%s", s->c->inbox, items[i].name);

            (void)share_remove_file(s->c->share, path, NULL);
            free(path);
        }
    }
    arena_destroy(a);
}

/* Tells the program why the stream ends, as ludwigd would, if nothing of a reply was passed on. */
static void tell_why(const struct stream *s, const struct err *why)
{
    struct msg_error refusal = { (int)why->kind, why->text };
    struct buf out = { 0 };

    if (s->n_replied == 0 && why->kind != ERR_NONE &&
        message_add(&out, &proto, MSG_ERROR, 1, 0, NULL, &refusal, NULL) == 0)
        (void)!send(s->fd, out.bytes, out.n, MSG_DONTWAIT | MSG_NOSIGNAL);
    buf_free(&out);
}

int courier_run(struct courier *c, int stream_fd, struct err *e)
{
    struct stream s = { .c = c,
                        .fd = stream_fd,
                        .arena = arena_create(),
                        .pause_ms = PAUSE_MIN_MS,
                        .id_ms = units_monotonic_ms() };
    struct err why = { 0 };
    int rc = 0;

    token_make(&s.conn);
#ifdef __linux__
    (void)prctl(PR_SET_NAME, "ludwig-courier");
#endif
    while (rc == 0 && !is_done(&s)) {
        wait_until_due(&s);
        sweep_once(&s, s.pause_ms >= PAUSE_MAX_MS);
        rc = do_turn(&s, &why);
    }
    if (rc < 0) {
        tell_why(&s, &why);
        err_set(e, why.kind, "%s", why.text);
    }
    close(stream_fd);
    (void)remove_requests(&s, s.n_put, NULL);
    sweep_once(&s, rc == 0);
    buf_free(&s.input);
    buf_free(&s.down);
    buf_free(&s.file);
    arena_destroy(s.arena);
    courier_close(c);
    return rc;
}
