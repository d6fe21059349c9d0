/* SPDX-License-Identifier: MIT */
/*
 * checkpoint_signal.h - asking a job to save its state, by the signal that it chose
 *
 * The signal goes to those of the job's processes that catch it: a shell, which would
 * die of it, is left in peace and its command is asked.  Children that a process forked
 * and that still run the same program (workers of a data loader) have inherited its
 * handler: they are not asked beside it.
 */
#ifndef LUDWIG_WORKER_RUNNER_CHECKPOINT_SIGNAL_H
#define LUDWIG_WORKER_RUNNER_CHECKPOINT_SIGNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* "SIGUSR1" or "USR1"; 0: there is none of that name. */
int checkpoint_signal_number(const char *name);

/* By the text of /proc/PID/status: it has a handler.  Who has the signal blocked is not counted:
 * that is also what a child looks like that has not begun its program yet, and would die. */
bool checkpoint_signal_catches(const char *status, int signal);

/* Sends it to those of our descendants that are to be asked, except to one process (0: none),
 * and returns how many that were. */
size_t checkpoint_signal_ask(int signal, pid_t except);

#endif
