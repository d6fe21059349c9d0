/* SPDX-License-Identifier: MIT */
/*
 * folder.h - a folder that results are written to, and what its writers share
 *
 * A mark in the folder says that ludwig made it, and for which program.  A folder that has other
 * things in it and no such mark is not touched.
 */
#ifndef LUDWIG_CLIENT_EXPORT_FOLDER_H
#define LUDWIG_CLIENT_EXPORT_FOLDER_H

#include "client/results/gather.h"

/* Makes the folder, or takes an empty one, or one that was written for the same program; ERR_USAGE
 * for any other folder. */
int export_folder_begin(const char *dir, const char *program, struct err *e);
/* Makes an empty folder at path, and the folders above it; removes what was at path. */
int export_folder_renew(const char *path, struct err *e);
/* Writes a file of that name in dir; replaces one that is there. */
int export_file(const char *dir, const char *name, const struct buf *content, struct err *e);

/* A series of a job: a measure's values over its steps. */
struct export_series {
    const char *metric;
    const struct curve_point *points;
    size_t n;
};
/* Where each job's series begin in g->curves, in the arena. */
size_t *export_series_index(const struct gathered *g);
/* Gives the next series of the job (an index of g->jobs) from *at on; false: there is none. */
bool export_series_next(const struct gathered *g, size_t job, size_t *at, struct export_series *s);
/* The point's step, which must be whole for other programs; the point's index if it is not. */
int64_t export_step(const struct export_series *s, size_t point);
/* A time for the point: points have none, so they are spread evenly over the job's run. */
int64_t export_time_ms(const struct gathered_job *job, const struct export_series *s, size_t point);
/* Appends a parameter's value as a line of text: strings as they are, unless they have control
 * characters, and the rest in JSON. */
void export_add_value(struct buf *out, const struct value *v);

#endif
