/* SPDX-License-Identifier: MIT */
/*
 * interrupt.h - turns Ctrl-C into a descriptor to wait for
 *
 * Between open and close SIGINT and SIGTERM do not end the program, but make the
 * descriptor readable.  A program has one at a time.
 */
#ifndef LUDWIG_CLIENT_TERM_INTERRUPT_H
#define LUDWIG_CLIENT_TERM_INTERRUPT_H

#include "common/base/err.h"

int interrupt_open(struct err *e); /* the descriptor, or -1 */
void interrupt_close(int fd);

#endif
