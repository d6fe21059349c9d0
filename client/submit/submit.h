/* SPDX-License-Identifier: MIT */
/*
 * submit.h - sends a sweep with its source and data to ludwigd's queue
 *
 *   project's folder, shared drive ──▶ inputs_count ──▶ inputs_pack ──▶ sweep_send_begin ──▶ inputs_arrive
 *     ──▶ files of sweeps/N ──▶ sweep_send_points ──▶ inputs_settle ──▶ sweep_send_taken
 *     ──▶ sweep_send_end
 *
 * Waiting overlaps: ludwigd makes the sweep while packs arrive, and configurations are sent while
 * packs get their names.  When a connection breaks, or a file of an older pack that the upload
 * needs is removed, all steps are taken again, without files that have their name on the share.
 */
#ifndef LUDWIG_CLIENT_SUBMIT_SUBMIT_H
#define LUDWIG_CLIENT_SUBMIT_SUBMIT_H

#include "client/session/session.h"
#include "client/submit/submit_request.h"

/* Starts git in folder.  Call it before submit_sweep, and submit_end_look after it in any case. */
void submit_begin_look(struct git_look *look, const char *folder);
void submit_end_look(struct git_look *look);

/* Notes to print beside the number of the sweep; the caller frees the texts. */
struct submit_notes {
    struct buf changes; /* source files that changed since its jobs were done before */
    struct buf gpus;    /* by gpu_hint_add */
};

/* Submits a sweep in a session that was started with wants.sends_files.  The texts of done live in
 * the cli's arena. */
int submit_sweep(const struct submit_request *o, struct session *s, struct msg_submitted *done,
                 struct submit_notes *notes, struct err *e);

#endif
