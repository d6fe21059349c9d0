/* SPDX-License-Identifier: MIT */
/*
 * inbox_visit.h - one visit to a user's inbox: what is read, written and removed there
 *
 * Filled in by the loop, carried out elsewhere, looked at by the loop again.
 */
#ifndef LUDWIG_SERVER_INBOX_INBOX_VISIT_H
#define LUDWIG_SERVER_INBOX_INBOX_VISIT_H

#include "server/inbox/inbox_dir.h"

enum {
    ROUND_BYTES_MAX = 4 * 1024 * 1024, /* about what is read in one visit */
    ROUND_NEW_MAX = 16,                /* connections that are begun */
    ROUND_STRANGE_MAX = 16,
    ROUND_LIST_MAX = 4096, /* names that are looked at: who has more has too many */
    ROUND_STALE_MAX = 512
};

/* A connection that is looked after. */
struct round_conn {
    struct token token;
    void *owner;   /* NULL: found in this round */
    int64_t next;  /* seq of the first parcel that is not read yet */
    size_t window; /* how many may be read */
    struct parcel *got;
    size_t n_got, capacity;
    bool is_bad; /* what came next is no parcel of ours; why says more */
    struct err why;
};

struct round_put {
    char name[PARCEL_NAME_BYTES];
    struct buf content;
    void *owner;
    bool has_failed;
};

struct round_name {
    char name[PARCEL_NAME_BYTES];
};

struct round {
    const struct inbox_dir *dirs;
    const char *server_id;
    struct token incarnation;
    uid_t uid;

    struct round_conn *conns;
    size_t n_conns, conns_capacity;
    struct round_put *puts;
    size_t n_puts, puts_capacity;
    struct round_name *out_drops, *in_drops;
    size_t n_out_drops, out_drops_capacity, n_in_drops, in_drops_capacity;

    bool lists;          /* looks for connections that are not known */
    struct token *known; /* those that are not new, whether they live or not */
    size_t n_known, known_capacity;

    /* What came of it. */
    struct arena *arena; /* of what was got */
    struct err error;    /* the folder may not be believed */
    struct err put_error;
    struct token strange[ROUND_STRANGE_MAX]; /* later parcels of connections nobody knows */
    size_t n_strange;
    bool has_more; /* it stopped before all was read */
};

struct round_conn *round_add_conn(struct round *r, const struct token *token, void *owner,
                                  int64_t next, size_t window);
struct round_put *round_add_put(struct round *r, void *owner);
char *round_add_out_drop(struct round *r); /* PARCEL_NAME_BYTES to write a name to */
char *round_add_in_drop(struct round *r);
void round_add_known(struct round *r, const struct token *token);

void round_run(struct round *r);
void round_clear(struct round *r); /* for the next one; keeps memory */
void round_free(struct round *r);

#endif
