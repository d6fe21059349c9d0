/* SPDX-License-Identifier: MIT */
/*
 * sshd_internal.h - what the files of ludwigd's own sshd share
 */
#ifndef LUDWIG_SERVER_SSHD_SSHD_INTERNAL_H
#define LUDWIG_SERVER_SSHD_SSHD_INTERNAL_H

#include "server/sshd/sshd.h"

struct sshd_files {
    char *dir, *config, *pid;
    const char *program;
    int port;
};

/* Says where they lie; sshd_prepare does so, too. */
void sshd_files_name(const struct server *sv, struct sshd_files *f);
/* Finds programs, makes what is missing, writes the configuration and has sshd check it.  Waits for
 * other programs: for before the loop runs. */
int sshd_prepare(struct server *sv, struct sshd_files *f, struct err *e);
void sshd_files_free(struct sshd_files *f);

#endif
