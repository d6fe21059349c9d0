/* SPDX-License-Identifier: MIT */
/*
 * pilotkey.h - the key by which a user's pilots reach ludwigd through this machine's sshd
 *
 * The key lies in ~/.local/state/ludwig/pilots/SERVER_ID of the user, who alone can read it; its
 * public half is in ~/.ssh/authorized_keys, and may run `ludwig bridge` and nothing else.  The host
 * keys that sshd shows here are written down beside it, so that ssh asks no question on a node.
 *
 * All of this waits for files and programs, and is done by a process of the user's.
 */
#ifndef LUDWIG_SERVER_PILOT_PILOTKEY_H
#define LUDWIG_SERVER_PILOT_PILOTKEY_H

#include "common/base/buf.h"
#include "common/base/err.h"

/* The word before PILOTKEY_WORDS words of pilotkey_main: this program then does nothing else. */
#define PILOTKEY_OPTION "--pilot-key"

enum { PILOTKEY_WORDS = 4, PILOTKEY_OUTPUT_MAX_BYTES = 16 * 1024 };

/*
 * words: SERVER_ID, SOCKET, HOST ("": this machine's names) and PORT.  Prints the folder of the
 * key, then the names of the host, a line each.  With an empty SOCKET it takes the key and its line
 * away. Returns the exit code; errors are printed on standard error.
 */
int pilotkey_main(char **words);

/* "restrict,command=... KEY", without an end of line; -1 where a path cannot be written there.
 * key: "TYPE BASE64 ...". */
int pilotkey_line(const char *ludwig, const char *socket_path, const char *key, const char *mark,
                  struct buf *out, struct err *e);

/* Appends what ssh-keyscan has printed, with ENDPOINT_KNOWN_AS for the name of the host. */
void pilotkey_known_hosts(const char *scanned, struct buf *out);

#endif
