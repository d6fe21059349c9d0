/* SPDX-License-Identifier: MIT */
/*
 * inbox_visit.h - one visit to a user's inbox: what is read, written and removed there
 *
 * The loop fills it in, a thread carries it out (visit_run), the loop looks at what came of it.
 */
#ifndef LUDWIG_SERVER_INBOX_INBOX_VISIT_H
#define LUDWIG_SERVER_INBOX_INBOX_VISIT_H

#include "server/inbox/inbox_dir.h"

enum {
    VISIT_BYTES_MAX = 4 * 1024 * 1024, /* about what is read in one visit */
    VISIT_NEW_MAX = 16,                /* connections that are begun */
    VISIT_LIST_MAX = 4096,             /* names that are looked at */
    VISIT_STALE_MAX = 512              /* old files that are removed */
};

/* A connection whose next requests are looked for. */
struct visit_conn {
    struct token token;
    void *owner;  /* NULL: found in this visit */
    int64_t next; /* number of the first request that is not read yet */
    size_t room;  /* how many may be read, FILE_REQUEST_AHEAD at most */
    struct file_request got[FILE_REQUEST_AHEAD];
    size_t n_got;
    bool is_bad; /* the next file cannot be taken; why says more */
    struct err why;
};

/* A reply to be written. */
struct visit_put {
    char name[FILE_REQUEST_NAME_BYTES];
    struct buf content;
    void *owner;
    bool has_failed;
};

/* A file to be removed. */
struct visit_drop {
    char name[FILE_REQUEST_NAME_BYTES];
};

struct visit {
    const struct inbox_dir *dirs;
    const char *server_id;
    struct token incarnation;
    uid_t uid;

    struct visit_conn *conns;
    size_t n_conns, conns_capacity;
    struct visit_put *puts;
    size_t n_puts, puts_capacity;
    struct visit_drop *out_drops, *in_drops;
    size_t n_out_drops, out_drops_capacity, n_in_drops, in_drops_capacity;

    bool lists;          /* looks for connections that are not known */
    struct token *known; /* connections that are not new, whether they live or not */
    size_t n_known, known_capacity;

    /* What came of it. */
    struct arena *arena; /* of what was got */
    struct err error;    /* the folder may not be believed */
    struct err put_error;
    bool has_more; /* it stopped before all was read */
};

struct visit_conn *visit_add_conn(struct visit *v, const struct token *token, void *owner,
                                  int64_t next, size_t room);
struct visit_put *visit_add_put(struct visit *v, void *owner);
char *visit_add_out_drop(struct visit *v); /* FILE_REQUEST_NAME_BYTES to write a name to */
char *visit_add_in_drop(struct visit *v);
void visit_add_known(struct visit *v, const struct token *token);

void visit_run(struct visit *v);
void visit_clear(struct visit *v); /* for the next one; keeps memory */
void visit_free(struct visit *v);

#endif
