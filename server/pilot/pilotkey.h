/* SPDX-License-Identifier: MIT */
/*
 * pilotkey.h - the SSH key with which a user's pilots reach ludwigd through this machine's sshd
 *
 * The key lies in the user's ~/.local/state/ludwig/pilots/SERVER_ID, readable by the user alone;
 * its public half is in ~/.ssh/authorized_keys and may only run `ludwig bridge`.  This machine's
 * host keys are written beside the key, so that ssh asks no question on a node.
 *
 * All of this blocks on files and programs, so a process with the user's rights does it.
 */
#ifndef LUDWIG_SERVER_PILOT_PILOTKEY_H
#define LUDWIG_SERVER_PILOT_PILOTKEY_H

#include "common/base/buf.h"
#include "common/base/err.h"

/* The option before pilotkey_main's PILOTKEY_WORDS words: the program then does only that. */
#define PILOTKEY_OPTION "--pilot-key"

enum { PILOTKEY_WORDS = 4, PILOTKEY_OUTPUT_MAX_BYTES = 16 * 1024 };

/*
 * Makes or renews the key.  words: SERVER_ID, SOCKET, HOST ("": this machine's names) and PORT.
 * Prints the key's folder, then the names of the host, one a line.  With an empty SOCKET it removes
 * the key and its line.  Returns the exit code; errors go to standard error.
 */
int pilotkey_main(char **words);

/* Appends a line for authorized_keys, "restrict,command=... KEY", without its line feed; -1 when a
 * path cannot be written there.  key: "TYPE BASE64 ...". */
int pilotkey_line(const char *ludwig, const char *socket_path, const char *key, const char *mark,
                  struct buf *out, struct err *e);

/* Appends the output of ssh-keyscan, with the host's name replaced by ENDPOINT_KNOWN_AS. */
void pilotkey_known_hosts(const char *scanned, struct buf *out);

#endif
