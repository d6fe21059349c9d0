/* SPDX-License-Identifier: MIT */
/*
 * environment.h - the environment that jobs are to run in, as this shell or the sweep file has it
 *
 * Where the sweep file names none it is what is active here: the venv, conda's or pixi's environment
 * that comes first in PATH, and the modules that are loaded.  Of one that nodes build it is the files that
 * it is built from (environment_files.h).
 */
#ifndef LUDWIG_CLIENT_SUBMIT_ENVIRONMENT_H
#define LUDWIG_CLIENT_SUBMIT_ENVIRONMENT_H

#include "client/spec/spec.h"

/* Fills in s->work.environment; one that is staged, or the files of
 * one that is built, become an entry of s->data.  All of it in a. */
int environment_take(struct spec *s, struct arena *a, struct err *e);

/* "venv ~/p/.venv, python 3.11, modules cuda/12.4"; nothing where jobs get the node's own. */
void environment_describe(const struct environment *x, struct buf *out);
/* What is peculiar about it here, for people; nothing where all is as usual. */
void environment_add_note(const struct spec *s, struct buf *out);

#endif
