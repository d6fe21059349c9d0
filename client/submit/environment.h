/* SPDX-License-Identifier: MIT */
/*
 * environment.h - finds the environment that jobs are to run in
 *
 * Where the sweep file names none, jobs get what is active here: the environment of venv, conda or
 * pixi that comes first in PATH, and the modules that are loaded.  An environment that nodes build
 * is submitted as the files that it is built from (environment_files.h).
 */
#ifndef LUDWIG_CLIENT_SUBMIT_ENVIRONMENT_H
#define LUDWIG_CLIENT_SUBMIT_ENVIRONMENT_H

#include "client/spec/spec.h"

/* Fills s->work.environment, in a.  The folder of an environment that is staged, or the files of
 * one that nodes build, become an entry of s->data. */
int environment_take(struct spec *s, struct arena *a, struct err *e);

/* "venv ~/p/.venv, python 3.11, modules cuda/12.4"; nothing where jobs get the node's own. */
void environment_describe(const struct environment *x, struct buf *out);
/* Appends a note: the environment is not on this machine, its Python does not work, or none is
 * active though the sweep file's folder has one.  Nothing where all is as usual. */
void environment_add_note(const struct spec *s, struct buf *out);

#endif
