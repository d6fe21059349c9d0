/* SPDX-License-Identifier: MIT */
/* post_sftp.c - inbox and outbox over SFTP, with as few round trips as its requests allow */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/path.h"
#include "common/connect/courier.h"
#include "common/connect/post.h"
#include "common/proto/layout.h"
#include "common/sftp/sftp.h"

struct sftp_post {
    struct post post;
    struct sftp *sftp;
    char *share;
    char *user;  /* or NULL */
    char *inbox; /* the user's */
    char *outbox;
    bool is_missed;    /* an answer was looked for in vain */
    struct err failed; /* the first thing that went wrong in a turn */
};

static struct sftp_post *of(struct post *p)
{
    return (struct sftp_post *)p;
}

static char *id_path(const struct sftp_post *s)
{
    return mem_printf("%s/%s/%s", s->share, LAYOUT_SERVER_DIR, SHAREID_NAME);
}

static int read_id(struct post *p, struct buf *out, struct err *e)
{
    char *path = id_path(of(p));
    int rc = sftp_read_file(of(p)->sftp, path, SHAREID_MAX_BYTES, out, e);

    free(path);
    return rc;
}

/* ---- whose inbox ---- */

static int parse_uid(const char *text, uid_t *uid)
{
    char *end;
    unsigned long number = strtoul(text, &end, 10);

    if (text[0] < '0' || text[0] > '9' || *end != '\0' || number >= UINT32_MAX)
        return -1;
    *uid = (uid_t)number;
    return 0;
}

/* By the link that has the account's name. */
static int find_by_name(struct sftp_post *s)
{
    char *path = mem_printf("%s/%s/" POST_OF_USER "%s", s->share, POST_INBOX, s->user);
    char *target = sftp_read_link(s->sftp, path, NULL);
    int rc = target == NULL ? -1 : parse_uid(target, &s->post.uid);

    free(target);
    free(path);
    return rc;
}

struct search {
    struct sftp_post *post;
    uid_t uid;
    int *found;
};

static void on_inside(void *context, const struct sftp_answer *answer)
{
    struct search *search = context;

    if (answer->error != NULL)
        return;
    ++*search->found;
    search->post->post.uid = search->uid;
}

static void look_inside(struct sftp_post *s, const struct sftp_entry *entry, struct search *search)
{
    char *path = mem_printf("%s/%s/%s/.", s->share, POST_INBOX, entry->name);
    struct sftp_op op = { .kind = SFTP_OP_LSTAT, .path = path };

    (void)sftp_start(s->sftp, &op, on_inside, search, NULL);
    free(path);
}

/* The one folder that we may enter: others are closed to us. */
static int find_by_trying(struct sftp_post *s, struct err *e)
{
    struct arena *a = arena_create();
    char *path = mem_printf("%s/%s", s->share, POST_INBOX);
    struct list entries = { 0 };
    const struct sftp_entry *items;
    struct search *searches;
    int found = 0, rc = sftp_list(s->sftp, path, a, &entries, e);

    searches = arena_alloc(a, (entries.n + 1) * sizeof *searches);
    items = entries.items;
    for (size_t i = 0; rc == 0 && i < entries.n; i++) {
        searches[i] = (struct search){ .post = s, .found = &found };
        if (parse_uid(items[i].name, &searches[i].uid) == 0)
            look_inside(s, &items[i], &searches[i]);
    }
    if (rc == 0)
        rc = sftp_finish(s->sftp, e);
    if (rc == 0 && found != 1) {
        free(path);
        path = mem_printf("%s/%s/UID", s->share, POST_INBOX);
        rc = post_no_folder(path, s->user != NULL ? s->user : "USER", e);
    }
    free(path);
    arena_destroy(a);
    return rc;
}

static int find_inbox(struct post *p, struct err *e)
{
    struct sftp_post *s = of(p);
    struct sftp_attrs attrs;

    if ((s->user == NULL || find_by_name(s) < 0) && find_by_trying(s, e) < 0)
        return -1;
    free(s->inbox);
    s->inbox = mem_printf("%s/%s/%u", s->share, POST_INBOX, p->uid);
    if (sftp_lstat(s->sftp, s->inbox, &attrs, e) < 0)
        return -1;
    return post_check_folder(p, s->inbox, attrs.uid, attrs.mode, e);
}

/* ---- a turn ---- */

static void note(struct sftp_post *s, const struct err *why)
{
    if (s->failed.kind == ERR_NONE)
        s->failed = *why;
}

static void on_done(void *context, const struct sftp_answer *answer)
{
    if (answer->error != NULL)
        note(context, answer->error);
}

/* What one who looks and one who removes may find missing. */
static void on_dropped(void *context, const struct sftp_answer *answer)
{
    if (answer->error != NULL && answer->error->kind != ERR_NOT_FOUND)
        note(context, answer->error);
}

struct get {
    struct sftp_post *post;
    struct post_file *file;
};

static void on_got(void *context, const struct sftp_answer *answer)
{
    struct get *get = context;

    if (answer->error == NULL) {
        get->file->is_there = true;
        buf_add(&get->file->content, answer->content.data, answer->content.n);
    } else if (answer->error->kind == ERR_NOT_FOUND) {
        get->post->is_missed = true;
    } else {
        note(get->post, answer->error);
    }
}

static void on_id(void *context, const struct sftp_answer *answer)
{
    if (answer->error == NULL)
        buf_add(context, answer->content.data, answer->content.n);
}

static void start(struct sftp_post *s, const struct sftp_op *op, sftp_done *done, void *context)
{
    struct err e = { 0 };

    if (sftp_start(s->sftp, op, done, context, &e) < 0)
        note(s, &e);
}

static void start_puts(struct sftp_post *s, const struct post_files *files)
{
    for (size_t i = 0; i < files->n; i++) {
        char *path = mem_printf("%s/" PARCEL_TEMPORARY "%s", s->inbox, files->items[i].name);
        struct sftp_op op = { .kind = SFTP_OP_PUT,
                              .path = path,
                              .content = buf_bytes(&files->items[i].content),
                              .mode = s->post.file_mode,
                              .flags = SFTP_EXCLUSIVE };

        start(s, &op, on_done, s);
        free(path);
    }
}

/* OpenSSH's plain rename makes a second name and removes the first: for a moment the file has two,
 * and ludwigd trusts none such. */
static void start_renames(struct sftp_post *s, const struct post_files *files)
{
    const bool can_replace = sftp_can(s->sftp, SFTP_CAN_REPLACE);

    for (size_t i = 0; i < files->n; i++) {
        char *from = mem_printf("%s/" PARCEL_TEMPORARY "%s", s->inbox, files->items[i].name);
        char *to = path_join(s->inbox, files->items[i].name);
        struct sftp_op op = { .kind = can_replace ? SFTP_OP_REPLACE : SFTP_OP_RENAME,
                              .path = from,
                              .to = to };

        start(s, &op, on_done, s);
        free(from);
        free(to);
    }
}

static void start_drops(struct sftp_post *s, const struct post_files *files)
{
    for (size_t i = 0; i < files->n; i++) {
        char *path = path_join(s->inbox, files->items[i].name);
        struct sftp_op op = { .kind = SFTP_OP_REMOVE, .path = path };

        start(s, &op, on_dropped, s);
        free(path);
    }
}

static void ignore(void *context, const struct sftp_answer *answer)
{
    (void)context, (void)answer;
}

/* Where the SFTP server itself has the share from NFS, it remembers for 30 s that an answer was not
 * there, and looks again when somebody opens the folder, or is refused to. */
static void start_look(struct sftp_post *s)
{
    struct sftp_op op = { .kind = SFTP_OP_GET, .path = s->outbox, .max_bytes = 1 };

    s->is_missed = false;
    start(s, &op, ignore, NULL);
}

static void start_gets(struct sftp_post *s, struct post_turn *t, struct get *gets)
{
    struct sftp_op op = { .kind = SFTP_OP_GET, .max_bytes = PARCEL_MAX_BYTES };
    char *path;

    if (s->is_missed && t->get.n > 0)
        start_look(s);
    for (size_t i = 0; i < t->get.n; i++) {
        gets[i] = (struct get){ s, &t->get.items[i] };
        path = path_join(s->outbox, t->get.items[i].name);
        op.path = path;
        start(s, &op, on_got, &gets[i]);
        free(path);
    }
    if (!t->wants_id)
        return;
    path = id_path(s);
    op.path = path;
    op.max_bytes = SHAREID_MAX_BYTES;
    start(s, &op, on_id, &t->id);
    free(path);
}

/* A file gets its name only when it is known to be whole. */
static int turn(struct post *p, struct post_turn *t, struct err *e)
{
    struct sftp_post *s = of(p);
    struct get gets[POST_FILES_MAX];

    err_clear(&s->failed);
    start_drops(s, &t->drop);
    if (t->put.n > 0) {
        start_puts(s, &t->put);
        if (sftp_finish(s->sftp, e) < 0)
            return -1;
        if (s->failed.kind == ERR_NONE)
            start_renames(s, &t->put);
    }
    start_gets(s, t, gets);
    if (sftp_finish(s->sftp, e) < 0)
        return -1;
    if (s->failed.kind == ERR_NONE)
        return 0;
    return err_set(e, s->failed.kind, "inbox %s: %s", s->inbox, s->failed.text);
}

/* ---- leftovers ---- */

/* By the server's clock, of which the newest file tells: one of a living courier, or ours. */
static uint32_t newest(const struct sftp_entry *items, size_t n)
{
    uint32_t newest_s = 0;

    for (size_t i = 0; i < n; i++)
        if ((items[i].attrs.has & SFTP_TIMES) != 0 && items[i].attrs.mtime_s > newest_s)
            newest_s = items[i].attrs.mtime_s;
    return newest_s;
}

static bool is_parcel(const char *name)
{
    struct token conn;
    int64_t seq;
    bool is_temporary;

    return parcel_parse_inbox_name(name, &conn, &seq, &is_temporary) == 0;
}

static void remove_old(struct sftp_post *s, const struct sftp_entry *items, size_t n)
{
    uint32_t newest_s = newest(items, n);

    for (size_t i = 0; i < n; i++) {
        char *path = path_join(s->inbox, items[i].name);
        struct sftp_op op = { .kind = SFTP_OP_REMOVE, .path = path };

        if (is_parcel(items[i].name) && (items[i].attrs.has & SFTP_TIMES) != 0 &&
            (int64_t)items[i].attrs.mtime_s < (int64_t)newest_s - PARCEL_STALE_MS / 1000)
            start(s, &op, on_dropped, s);
        free(path);
    }
    (void)sftp_finish(s->sftp, NULL);
}

static void sweep(struct post *p)
{
    struct sftp_post *s = of(p);
    char *clock = path_join(s->inbox, ".clock");
    struct sftp_op touch = { .kind = SFTP_OP_PUT, .path = clock, .mode = 0600 };
    struct arena *a = arena_create();
    struct list entries = { 0 };

    start(s, &touch, on_dropped, s);
    if (sftp_finish(s->sftp, NULL) == 0 && sftp_list(s->sftp, s->inbox, a, &entries, NULL) == 0)
        remove_old(s, entries.items, entries.n);
    (void)sftp_remove(s->sftp, clock, NULL);
    arena_destroy(a);
    free(clock);
}

static void close_post(struct post *p)
{
    struct sftp_post *s = of(p);

    sftp_close(s->sftp);
    free(s->share);
    free(s->user);
    free(s->inbox);
    free(s->outbox);
    free(s);
}

static const struct post_way way = { read_id, find_inbox, turn, sweep, close_post };

struct courier *courier_over_sftp(int sftp_fd, const char *share, const char *user, struct err *e)
{
    struct sftp *sftp = sftp_open(sftp_fd, e);
    struct sftp_post *s;

    if (sftp == NULL)
        return NULL;
    s = mem_alloc(sizeof *s);
    *s = (struct sftp_post){ .post = { .way = &way, .fd = sftp_fd },
                             .sftp = sftp,
                             .share = mem_strdup(strcmp(share, "/") == 0 ? "" : share),
                             .user = user != NULL ? mem_strdup(user) : NULL,
                             .outbox = mem_printf("%s/%s", strcmp(share, "/") == 0 ? "" : share,
                                                  POST_OUTBOX) };
    return courier_create(&s->post, e);
}
