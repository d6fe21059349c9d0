/* SPDX-License-Identifier: MIT */
/*
 * submit_request.h - a sweep that was read and checked, ready to be submitted
 */
#ifndef LUDWIG_CLIENT_SUBMIT_SUBMIT_REQUEST_H
#define LUDWIG_CLIENT_SUBMIT_SUBMIT_REQUEST_H

#include "client/expand/points.h"
#include "client/spec/spec.h"
#include "client/term/command.h"
#include "client/util/child.h"
#include "common/proto/proto.h"

/* Two runs of git, for the folder's commit (head) and its changes (status).  In a large repository
 * git takes seconds to find changes, so that it runs beside other work. */
struct git_look {
    struct child_run head, status;
};

struct submit_request {
    struct cli *cli;
    struct spec spec;
    struct points points;
    struct list passed;   /* struct env_entry: the variables that spec.work.passed names */
    int reuse;            /* enum reuse */
    int64_t configs;      /* how many points to submit, from the first one on */
    struct git_look *git; /* valid during submit_sweep */
};

/* Appends the text of summary.json, which describes the sweep on the share. */
void submit_request_add_summary(const struct submit_request *o, const struct jobspec *w,
                                int64_t sweep, struct buf *json);

/* Returns the message that begins the sweep in ludwigd. */
struct msg_submit_begin submit_request_begin(const struct submit_request *o,
                                             const struct jobspec *w);

/* Appends "16 of them are queued or running in sweep 7 already". */
void submit_request_add_followed(struct buf *out, int64_t n, int64_t first_sweep,
                                 int64_t last_sweep);

#endif
