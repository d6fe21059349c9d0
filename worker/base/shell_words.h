/* SPDX-License-Identifier: MIT */
/*
 * shell_words.h - commands that need no shell
 *
 * Starting /bin/sh costs as much as starting the job itself.  A command that is
 * nothing but words, plain or in single quotes, means the same without a shell,
 * as make(1) knows too.  Whatever the shell would look at twice ($ * ; = ~ ...),
 * and the names of its own commands, are left to it.
 */
#ifndef LUDWIG_WORKER_BASE_SHELL_WORDS_H
#define LUDWIG_WORKER_BASE_SHELL_WORDS_H

#include "common/base/mem.h"

/* The words, ended by NULL, in the arena; NULL when the command needs a shell. */
char **shell_words_split(const char *command, struct arena *a);

/* The program that word names, by this PATH, in the arena; NULL when there is none. */
const char *shell_words_program(const char *word, const char *path, struct arena *a);

#endif
