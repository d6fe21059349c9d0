/* SPDX-License-Identifier: MIT */
/*
 * janitor.h - looks after one user's scratch folder for the agent, which never opens it
 *
 * The agent starts a janitor when it must find something out (it begins, a runner died) and ends it
 * afterwards.  The janitor has the user's rights, so nothing in that folder can mislead the agent
 * or hold it up.
 */
#ifndef LUDWIG_WORKER_JANITOR_JANITOR_H
#define LUDWIG_WORKER_JANITOR_JANITOR_H

/* --janitor SCRATCH: takes orders from CHILD_CHANNEL_FD until the connection ends. */
int janitor_main(int argc, char **argv);

#endif
