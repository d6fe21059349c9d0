/* SPDX-License-Identifier: MIT */
/*
 * preview.h - what would become of a sweep, as things are
 */
#ifndef LUDWIG_CLIENT_SUBMIT_PREVIEW_H
#define LUDWIG_CLIENT_SUBMIT_PREVIEW_H

#include "client/session/session.h"
#include "client/submit/submit_request.h"

/* Where configurations can be the same, duplicates among more than that are not looked for. */
enum { PREVIEW_EXACT_MAX = 1000 * 1000 };

struct preview {
    int64_t configs;          /* each once */
    bool is_exact;            /* false: there may be duplicates among them */
    bool asked;               /* a server has answered; else the rest is zero */
    int64_t reused;           /* jobs */
    int64_t done_otherwise;   /* jobs that --reuse params would take on top of them */
    int64_t ran_jobs, ran_ms; /* of the project */
};

/* rpc: NULL when there is nobody to ask.  ERR_DENIED: the project is somebody else's. */
int preview_make(struct preview *f, const struct submit_request *o, struct rpc *rpc,
                 const struct digest *work, struct err *e);

#endif
