/* SPDX-License-Identifier: MIT */
/* inbox_visit.c - one visit to a user's inbox, away from the event loop */
#include "server/inbox/inbox_visit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- filling it ---- */

struct round_conn *round_add_conn(struct round *r, const struct token *token, void *owner,
                                  int64_t next, size_t window)
{
    struct round_conn *c;

    mem_grow((void **)&r->conns, &r->conns_capacity, r->n_conns, sizeof *r->conns);
    c = &r->conns[r->n_conns++];
    *c = (struct round_conn){ .token = *token, .owner = owner, .next = next, .window = window };
    return c;
}

struct round_put *round_add_put(struct round *r, void *owner)
{
    struct round_put *p;

    mem_grow((void **)&r->puts, &r->puts_capacity, r->n_puts, sizeof *r->puts);
    p = &r->puts[r->n_puts++];
    *p = (struct round_put){ .owner = owner };
    return p;
}

char *round_add_out_drop(struct round *r)
{
    mem_grow((void **)&r->out_drops, &r->out_drops_capacity, r->n_out_drops, sizeof *r->out_drops);
    return r->out_drops[r->n_out_drops++].name;
}

char *round_add_in_drop(struct round *r)
{
    mem_grow((void **)&r->in_drops, &r->in_drops_capacity, r->n_in_drops, sizeof *r->in_drops);
    return r->in_drops[r->n_in_drops++].name;
}

void round_add_known(struct round *r, const struct token *token)
{
    mem_grow((void **)&r->known, &r->known_capacity, r->n_known, sizeof *r->known);
    r->known[r->n_known++] = *token;
}

void round_clear(struct round *r)
{
    for (size_t i = 0; i < r->n_conns; i++)
        free(r->conns[i].got);
    for (size_t i = 0; i < r->n_puts; i++)
        buf_free(&r->puts[i].content);
    r->n_conns = r->n_puts = r->n_out_drops = r->n_in_drops = r->n_known = r->n_strange = 0;
    r->lists = r->has_more = false;
    err_clear(&r->error);
    err_clear(&r->put_error);
    if (r->arena != NULL)
        arena_reset(r->arena);
}

void round_free(struct round *r)
{
    round_clear(r);
    free(r->conns);
    free(r->puts);
    free(r->out_drops);
    free(r->in_drops);
    free(r->known);
    arena_destroy(r->arena);
    *r = (struct round){ 0 };
}

/* ---- reading ---- */

static int check_parcel(const struct round *r, const struct round_conn *c, const struct parcel *p,
                        struct err *e)
{
    if (strcmp(p->server, r->server_id) != 0)
        return err_set(e, ERR_PROTOCOL, "a parcel for another server");
    if (!token_equal(&p->incarnation, &r->incarnation))
        return err_set(e, ERR_PROTOCOL, "a parcel for an earlier ludwigd");
    if (!token_equal(&p->conn, &c->token) || p->seq != c->next || p->end == PARCEL_RESET)
        return err_set(e, ERR_PROTOCOL, "a parcel says what its name does not");
    return 0;
}

/* 1: the next one was got. */
static int read_next(struct round *r, int box_fd, struct round_conn *c, size_t *total_bytes)
{
    char name[PARCEL_NAME_BYTES];
    struct buf file = { 0 };
    struct parcel p;
    int rc;

    parcel_inbox_name(name, &c->token, c->next);
    rc = inbox_dir_read(box_fd, r->uid, name, &file, &c->why);
    if (rc == 1 && (parcel_decode(&p, buf_bytes(&file), r->arena, &c->why) < 0 ||
                    check_parcel(r, c, &p, &c->why) < 0))
        rc = -1;
    if (rc == 1) {
        mem_grow((void **)&c->got, &c->capacity, c->n_got, sizeof *c->got);
        c->got[c->n_got++] = p;
        c->next++;
        *total_bytes += file.n;
    }
    c->is_bad = rc < 0;
    buf_free(&file);
    return rc;
}

static void read_conn(struct round *r, int box_fd, struct round_conn *c, size_t *total_bytes)
{
    while (c->window > 0) {
        if (*total_bytes > ROUND_BYTES_MAX) {
            r->has_more = true;
            return;
        }
        if (read_next(r, box_fd, c, total_bytes) != 1)
            return;
        c->window--;
    }
}

/* ---- finding ---- */

static int compare_tokens(const void *x, const void *y)
{
    return memcmp(x, y, sizeof(struct token));
}

static bool is_known(const struct round *r, const struct token *token)
{
    return r->n_known > 0 &&
           bsearch(token, r->known, r->n_known, sizeof *r->known, compare_tokens) != NULL;
}

static bool is_new(const struct round *r, const struct token *token)
{
    for (size_t i = 0; i < r->n_conns; i++)
        if (r->conns[i].owner == NULL && token_equal(&r->conns[i].token, token))
            return true;
    return false;
}

static void note_stranger(struct round *r, const struct token *token)
{
    for (size_t i = 0; i < r->n_strange; i++)
        if (token_equal(&r->strange[i], token))
            return;
    if (r->n_strange < ROUND_STRANGE_MAX)
        r->strange[r->n_strange++] = *token;
}

/* What a listing has come to. */
struct search {
    int box_fd;
    int64_t now_ms; /* 0: nobody has asked yet */
    size_t n_stale, n_new;
};

/* Of a connection that nobody knows. */
static bool is_stale(const struct round *r, struct search *s, const char *name)
{
    struct stat st;

    if (s->now_ms == 0)
        s->now_ms = inbox_dir_now_ms(r->dirs);
    return fstatat(s->box_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           (int64_t)st.st_mtime * 1000 < s->now_ms - PARCEL_STALE_MS;
}

static void look_at(struct round *r, struct search *s, const char *name)
{
    struct token token;
    int64_t seq;
    bool is_temporary;

    if (parcel_parse_inbox_name(name, &token, &seq, &is_temporary) < 0 || is_known(r, &token))
        return;
    if (is_stale(r, s, name)) {
        if (inbox_dir_may_remove(r->dirs, r->uid) && s->n_stale++ < ROUND_STALE_MAX)
            (void)unlinkat(s->box_fd, name, 0);
    } else if (!is_temporary && seq == 0 && s->n_new < ROUND_NEW_MAX) {
        round_add_conn(r, &token, NULL, 0, PARCEL_WINDOW);
        s->n_new++;
    } else if (!is_temporary && seq == 0) {
        r->has_more = true;
    } else if (!is_temporary) {
        note_stranger(r, &token);
    }
}

static void drop_begun_from_strangers(struct round *r)
{
    size_t kept = 0;

    for (size_t i = 0; i < r->n_strange; i++)
        if (!is_new(r, &r->strange[i]))
            r->strange[kept++] = r->strange[i];
    r->n_strange = kept;
}

static void find_new(struct round *r, int box_fd)
{
    int fd = openat(box_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;
    struct search s = { .box_fd = box_fd };

    if (dir == NULL) {
        if (fd >= 0)
            close(fd);
        return;
    }
    if (r->n_known > 0)
        qsort(r->known, r->n_known, sizeof *r->known, compare_tokens);
    for (int i = 0; i < ROUND_LIST_MAX && (entry = readdir(dir)) != NULL; i++)
        look_at(r, &s, entry->d_name);
    closedir(dir);
    drop_begun_from_strangers(r);
}

/* ---- the visit ---- */

static void put_all(struct round *r)
{
    for (size_t i = 0; i < r->n_puts; i++) {
        struct round_put *p = &r->puts[i];

        p->has_failed =
            inbox_dir_put(r->dirs, r->uid, p->name, buf_bytes(&p->content), &r->put_error) < 0;
    }
    for (size_t i = 0; i < r->n_out_drops; i++)
        inbox_dir_drop(r->dirs, r->out_drops[i].name);
}

void round_run(struct round *r)
{
    size_t total_bytes = 0;
    int fd;

    if (r->arena == NULL)
        r->arena = arena_create();
    put_all(r);
    fd = inbox_dir_open_box(r->dirs, r->uid, &r->error);
    if (fd < 0)
        return;
    if (inbox_dir_may_remove(r->dirs, r->uid))
        for (size_t i = 0; i < r->n_in_drops; i++)
            (void)unlinkat(fd, r->in_drops[i].name, 0);
    if (r->lists)
        find_new(r, fd);
    for (size_t i = 0; i < r->n_conns; i++)
        read_conn(r, fd, &r->conns[i], &total_bytes);
    close(fd);
}
