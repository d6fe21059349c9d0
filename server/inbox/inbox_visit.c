/* SPDX-License-Identifier: MIT */
/* inbox_visit.c - one visit to a user's inbox, on a thread */
#include "server/inbox/inbox_internal.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/units.h"

/* ---- preparation ---- */

struct visit_conn *visit_add_conn(struct visit *v, const struct token *token, void *owner,
                                  int64_t next, size_t room)
{
    struct visit_conn *c;

    mem_grow((void **)&v->conns, &v->conns_capacity, v->n_conns, sizeof *v->conns);
    c = &v->conns[v->n_conns++];
    *c = (struct visit_conn){ .token = *token, .owner = owner, .next = next, .room = room };
    return c;
}

struct visit_put *visit_add_put(struct visit *v, void *owner)
{
    struct visit_put *p;

    mem_grow((void **)&v->puts, &v->puts_capacity, v->n_puts, sizeof *v->puts);
    p = &v->puts[v->n_puts++];
    *p = (struct visit_put){ .owner = owner };
    return p;
}

char *visit_add_out_drop(struct visit *v)
{
    mem_grow((void **)&v->out_drops, &v->out_drops_capacity, v->n_out_drops, sizeof *v->out_drops);
    return v->out_drops[v->n_out_drops++].name;
}

char *visit_add_in_drop(struct visit *v)
{
    mem_grow((void **)&v->in_drops, &v->in_drops_capacity, v->n_in_drops, sizeof *v->in_drops);
    return v->in_drops[v->n_in_drops++].name;
}

void visit_add_known(struct visit *v, const struct token *token)
{
    mem_grow((void **)&v->known, &v->known_capacity, v->n_known, sizeof *v->known);
    v->known[v->n_known++] = *token;
}

void visit_clear(struct visit *v)
{
    for (size_t i = 0; i < v->n_puts; i++)
        buf_free(&v->puts[i].content);
    v->n_conns = v->n_puts = v->n_out_drops = v->n_in_drops = v->n_known = 0;
    v->lists = v->has_more = false;
    err_clear(&v->error);
    err_clear(&v->put_error);
    if (v->arena != NULL)
        arena_reset(v->arena);
}

void visit_free(struct visit *v)
{
    visit_clear(v);
    free(v->conns);
    free(v->puts);
    free(v->out_drops);
    free(v->in_drops);
    free(v->known);
    arena_destroy(v->arena);
    *v = (struct visit){ 0 };
}

/* ---- reading ---- */

/* Reads the connection's next request: 1, 0 if there is none, -1 with c->why if it cannot be taken.
 * */
static int read_next(struct visit *v, int box_fd, struct visit_conn *c, size_t *total_bytes)
{
    char name[FILE_REQUEST_NAME_BYTES];
    struct file_request *r = &c->got[c->n_got];
    struct buf file = { 0 };
    int rc;

    file_request_name(name, &c->token, c->next);
    rc = inbox_dir_read(box_fd, v->uid, name, &file, &c->why);
    if (rc < 0 && c->why.kind == ERR_BUSY) {
        err_clear(&c->why);
        v->has_more = true;
        rc = 0;
    }
    if (rc == 1 && file_request_decode(r, buf_bytes(&file), v->arena, &c->why) < 0)
        rc = -1;
    else if (rc == 1 && strcmp(r->server, v->server_id) != 0)
        rc = err_set(&c->why, ERR_PROTOCOL, "the request is for another server");
    else if (rc == 1 && !token_equal(&r->incarnation, &v->incarnation))
        rc = err_set(&c->why, ERR_PROTOCOL, "the request is for an earlier ludwigd");
    else if (rc == 1 && (!token_equal(&r->conn, &c->token) || r->no != c->next))
        rc = err_set(&c->why, ERR_PROTOCOL, "the request says what its name does not");
    if (rc == 1) {
        c->n_got++;
        c->next++;
        *total_bytes += file.n;
    }
    c->is_bad = rc < 0;
    buf_free(&file);
    return rc;
}

/* ---- finding ---- */

static int compare_tokens(const void *x, const void *y)
{
    return memcmp(x, y, sizeof(struct token));
}

/* Finds new connections by their first requests, and removes stale files.  A later request of an
 * unknown connection waits for the first one, which may get its name a moment later. */
static void find_new(struct visit *v, int box_fd)
{
    int fd = openat(box_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;
    size_t n_new = 0, n_stale = 0;

    if (dir == NULL) {
        if (fd >= 0)
            close(fd);
        return;
    }
    if (v->n_known > 0)
        qsort(v->known, v->n_known, sizeof *v->known, compare_tokens);
    for (int i = 0; i < VISIT_LIST_MAX && (entry = readdir(dir)) != NULL; i++) {
        const char *name = entry->d_name;
        struct token token;
        struct stat st;
        int64_t no;
        bool is_temporary;

        if (file_request_parse_name(name, &token, &no, &is_temporary) < 0 ||
            (v->n_known > 0 &&
             bsearch(&token, v->known, v->n_known, sizeof *v->known, compare_tokens) != NULL))
            continue;
        /* The clocks of two machines may differ, though not by a day. */
        if (fstatat(box_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            (int64_t)st.st_mtime * 1000 < units_now_ms() - FILE_REQUEST_STALE_MS) {
            if (inbox_dir_may_remove(v->dirs, v->uid) && n_stale++ < VISIT_STALE_MAX)
                (void)unlinkat(box_fd, name, 0);
        } else if (!is_temporary && no == 0 && n_new < VISIT_NEW_MAX) {
            visit_add_conn(v, &token, NULL, 0, FILE_REQUEST_AHEAD);
            n_new++;
        } else if (!is_temporary && no == 0) {
            v->has_more = true;
        }
    }
    closedir(dir);
}

/* ---- the visit ---- */

void visit_run(struct visit *v)
{
    size_t total_bytes = 0;
    int fd;

#ifdef LUDWIG_TEST_HOOKS
    if (getenv("LUDWIG_INBOX_HANGS") != NULL) /* hangs as on a share that is away */
        (void)poll(NULL, 0, -1);
#endif
    if (v->arena == NULL)
        v->arena = arena_create();
    for (size_t i = 0; i < v->n_puts; i++) {
        struct visit_put *p = &v->puts[i];

        p->has_failed =
            inbox_dir_put(v->dirs, v->uid, p->name, buf_bytes(&p->content), &v->put_error) < 0;
    }
    for (size_t i = 0; i < v->n_out_drops; i++)
        inbox_dir_drop(v->dirs, v->out_drops[i].name);
    fd = inbox_dir_open_box(v->dirs, v->uid, &v->error);
    if (fd < 0)
        return;
    if (inbox_dir_may_remove(v->dirs, v->uid))
        for (size_t i = 0; i < v->n_in_drops; i++)
            (void)unlinkat(fd, v->in_drops[i].name, 0);
    if (v->lists)
        find_new(v, fd);
    for (size_t i = 0; i < v->n_conns; i++) {
        struct visit_conn *c = &v->conns[i];

        while (c->n_got < c->room && total_bytes <= VISIT_BYTES_MAX)
            if (read_next(v, fd, c, &total_bytes) != 1)
                break;
        v->has_more |= total_bytes > VISIT_BYTES_MAX;
    }
    close(fd);
}
