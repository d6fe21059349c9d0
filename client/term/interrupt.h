/* SPDX-License-Identifier: MIT */
/*
 * interrupt.h - Ctrl-C as a descriptor to wait for
 *
 * Between open and close SIGINT and SIGTERM end nothing, but make the descriptor
 * readable.  One at a time in a program.
 */
#ifndef LUDWIG_CLIENT_TERM_INTERRUPT_H
#define LUDWIG_CLIENT_TERM_INTERRUPT_H

#include "common/base/err.h"

int interrupt_open(struct err *e); /* the descriptor, or -1 */
void interrupt_close(int fd);

#endif
