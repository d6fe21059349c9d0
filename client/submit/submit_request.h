/* SPDX-License-Identifier: MIT */
/*
 * submit_request.h - what is to be submitted, read and checked
 */
#ifndef LUDWIG_CLIENT_SUBMIT_SUBMIT_REQUEST_H
#define LUDWIG_CLIENT_SUBMIT_SUBMIT_REQUEST_H

#include "client/expand/points.h"
#include "client/spec/spec.h"
#include "client/term/command.h"
#include "client/util/child.h"
#include "common/proto/proto.h"

/* At which commit the folder is: in a large repository git takes seconds to see what has changed, so it
 * looks while something else is done. */
struct git_look {
    struct child_run head, status;
};

struct submit_request {
    struct cli *cli;
    struct spec spec;
    struct points points;
    struct list passed;   /* struct env_entry: what spec.work.passed names */
    int reuse;            /* enum reuse */
    int64_t configs;      /* how many of the points are meant: all, or the first */
    struct git_look *git; /* while it is submitted */
};

/* summary.json: what was made of the file. */
void submit_request_add_summary(const struct submit_request *o, const struct jobspec *w,
                                int64_t sweep, struct buf *json);

/* What ludwigd is told first. */
struct msg_submit_begin submit_request_begin(const struct submit_request *o, const char *project,
                                             const struct jobspec *w);

#endif
