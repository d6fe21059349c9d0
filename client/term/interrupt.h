/* SPDX-License-Identifier: MIT */
/*
 * interrupt.h - makes a descriptor readable on Ctrl-C instead of ending the program
 *
 * Between interrupt_open and interrupt_close, SIGINT and SIGTERM do not end the program but make
 * the descriptor readable.  Only one such descriptor may be open.
 */
#ifndef LUDWIG_CLIENT_TERM_INTERRUPT_H
#define LUDWIG_CLIENT_TERM_INTERRUPT_H

#include "common/base/err.h"

int interrupt_open(struct err *e); /* returns the descriptor, or -1 with e set */
void interrupt_close(int fd);      /* closes fd; the signals end the program again */

#endif
