/* SPDX-License-Identifier: MIT */
/*
 * janitor.h - looks after one user's scratch folder for the agent, which never opens it
 *
 * A janitor is started when something must be found out (an agent begins, a runner died) and
 * leaves when that is done.  It runs with the user's rights, so whatever stands in that
 * folder can neither lead the agent astray nor hold it up.
 */
#ifndef LUDWIG_WORKER_JANITOR_JANITOR_H
#define LUDWIG_WORKER_JANITOR_JANITOR_H

/* --janitor SCRATCH: takes orders from CHILD_CHANNEL_FD until the connection ends. */
int janitor_main(int argc, char **argv);

#endif
