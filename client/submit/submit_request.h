/* SPDX-License-Identifier: MIT */
/*
 * submit_request.h - a submit, read and checked
 */
#ifndef LUDWIG_CLIENT_SUBMIT_SUBMIT_REQUEST_H
#define LUDWIG_CLIENT_SUBMIT_SUBMIT_REQUEST_H

#include "client/expand/points.h"
#include "client/spec/spec.h"
#include "client/term/command.h"
#include "client/util/child.h"
#include "common/proto/proto.h"

/* Two runs of git for the folder's commit and changes: in a large repository git takes seconds to
 * find changes, so it runs beside other work. */
struct git_look {
    struct child_run head, status;
};

struct submit_request {
    struct cli *cli;
    struct spec spec;
    struct points points;
    struct list passed;   /* struct env_entry: what spec.work.passed names */
    int reuse;            /* enum reuse */
    int64_t configs;      /* number of points to submit: all, or the first ones */
    struct git_look *git; /* valid during submit_sweep */
};

/* Adds summary.json: the sweep as read from the file. */
void submit_request_add_summary(const struct submit_request *o, const struct jobspec *w,
                                int64_t sweep, struct buf *json);

/* Makes the first message to ludwigd. */
struct msg_submit_begin submit_request_begin(const struct submit_request *o,
                                             const struct jobspec *w);

/* "16 of them are queued or running in sweep 7 already" */
void submit_request_add_followed(struct buf *out, int64_t n, int64_t first_sweep,
                                 int64_t last_sweep);

#endif
