/* SPDX-License-Identifier: MIT */
/*
 * filewatch.h - told when a file grows
 */
#ifndef LUDWIG_CLIENT_SHARE_FILEWATCH_H
#define LUDWIG_CLIENT_SHARE_FILEWATCH_H

/* A descriptor that becomes readable when the file changes; -1 where nobody is told, as on
 * network file systems: look again from time to time. */
int filewatch_open(const char *path);
/* Takes what is there to be read. */
void filewatch_drain(int fd);
void filewatch_close(int fd); /* -1 is fine */

#endif
