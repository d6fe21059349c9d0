/* SPDX-License-Identifier: MIT */
/*
 * layout.h - paths on the shared drive
 *
 * The functions with `out` append a path relative to the share, without a leading slash.
 *
 *   .ludwig/                                    ludwigd's own files
 *   PROJECT/.ludwig/packs/DIGEST/               a source or data tree (client writes)
 *   PROJECT/.ludwig/checkpoints/param_003/JOBNAME.a2/
 *   PROJECT/sweeps/7/                           sweep.yaml as submitted, summary.json
 *   PROJECT/logs/7/param_003_JOBNAME.log        .a2.log for the second attempt
 *   PROJECT/logs/7/param_003_JOBNAME.metrics.jsonl   all that the job has reported, until it is done
 *   PROJECT/runs/param_003/param2val.yaml
 *   PROJECT/runs/param_003/JOBNAME/             the job's saved files, and job.json
 *   PROJECT/failed/param_003/JOBNAME.a2/
 *   PROJECT/stopped/param_003/JOBNAME.a2/       files of a job that was stopped early
 */
#ifndef LUDWIG_COMMON_PROTO_LAYOUT_H
#define LUDWIG_COMMON_PROTO_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/digest.h"

#define LAYOUT_SERVER_DIR ".ludwig"
#define LAYOUT_PILOTS     "pilots" /* has UID/, a folder of the user with the logs of pilots */
#define LAYOUT_JOB_JSON   "job.json"
#define LAYOUT_PARAM2VAL  "param2val.yaml"
#define LAYOUT_METRICS    "metrics.jsonl" /* in a run's folder: all reported metrics */
/* A file in a folder of fetched results, which marks the folder as no part of a source. */
#define LAYOUT_FETCHED ".ludwig-results"
/* Not on the share: a second socket of the ludwigd that serves a whole machine. */
#define LAYOUT_SYSTEM_SOCKET "/run/ludwig/server.sock"
/* In ~/.ssh/authorized_keys the lines that ludwigd adds end with this and ludwigd's id. */
#define LAYOUT_PILOT_KEY "ludwig-pilots:"

/* Whether name can be the name of a project's folder: portable, and neither hidden (.name) nor like
 * an option (-name). */
bool layout_is_project_name(const char *name);
void layout_param_name(struct buf *out, int64_t param_no); /* "param_003", growing beyond 999 */
void layout_packs(struct buf *out, const char *project);   /* the folder of all trees */
void layout_sweep(struct buf *out, const char *project, int64_t sweep);
void layout_log(struct buf *out, const char *project, int64_t sweep, const char *param_name,
                const char *job_name, int64_t attempt);
/* The file with all that the job has reported up to this attempt; it lies beside the attempt's
 * log. */
void layout_live_metrics(struct buf *out, const char *log_path);
/* The same of an earlier attempt of the job; log_path: the log of this one. */
void layout_earlier_metrics(struct buf *out, const char *log_path, int64_t attempt,
                            int64_t earlier);
/* Turns the path of such a file into that of the attempt before; false: there is none before. */
bool layout_metrics_before(struct buf *path);
void layout_run(struct buf *out, const char *project, const char *param_name, const char *job_name);
void layout_failed(struct buf *out, const char *project, const char *param_name,
                   const char *job_name, int64_t attempt);
void layout_stopped(struct buf *out, const char *project, const char *param_name,
                    const char *job_name, int64_t attempt);
/* The folder with all checkpoints of a configuration. */
void layout_checkpoints(struct buf *out, const char *project, const char *param_name);
/* The temporary path of a folder until it gets its final path: ".JOBNAME.TOKEN" beside that. */
void layout_temporary(struct buf *out, const char *final_path, const struct token *token);

#endif
