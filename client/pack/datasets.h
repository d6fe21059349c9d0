/* SPDX-License-Identifier: MIT */
/*
 * datasets.h - the sources and data that sweeps have named, as the server knows them
 *
 * What was sent ahead, and no sweep has named yet, the server does not know: that is looked for in
 * projects that it does know, and in that of the current folder.
 */
#ifndef LUDWIG_CLIENT_PACK_DATASETS_H
#define LUDWIG_CLIENT_PACK_DATASETS_H

#include "client/pack/datasets_stored.h"
#include "client/session/session.h"

struct datasets {
    struct session *session;
    const char *project; /* of this one alone; NULL: of all that the server tells of */
    struct dataset_info *rows;
    size_t n, capacity;
};

/* In the session's arena, but for rows, which datasets_free frees. */
int datasets_fetch(struct datasets *d, struct err *e);
void datasets_free(struct datasets *d);
/* Adds an empty one. */
struct dataset_info *datasets_add(struct datasets *d);

/* The current folder's name, if that can be a project's; else NULL with e set. */
const char *datasets_here(const struct datasets *d, struct err *e);

/* A project to be looked into. */
struct datasets_project {
    const char *name;
    bool is_guessed; /* it may be nobody's, or somebody else's */
};

/* Each once.  own: an admin is told of others', too, which are left out.  In the session's arena. */
struct datasets_project *datasets_projects(const struct datasets *d, bool own, size_t *n);

/* What sweeps make of a set: by its id or, where none has named that, by what is in it. */
struct dataset_use {
    int64_t used_at;    /* 0: no sweep ever did */
    int64_t unfinished; /* sweeps that need it */
    bool has_name;      /* the one that was asked for */
};

/* name: NULL: none is asked for. */
struct dataset_use datasets_use(const struct datasets *d, const char *project,
                                const struct packed *set, const char *name);

#endif
