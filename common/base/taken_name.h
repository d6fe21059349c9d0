/* SPDX-License-Identifier: MIT */
/*
 * taken_name.h - other names for those that a stranger has taken
 *
 * Where all may write, as in /tmp, anybody can put something under the name that a program of
 * another user is about to use, and the sticky bit keeps it there.
 */
#ifndef LUDWIG_COMMON_BASE_TAKEN_NAME_H
#define LUDWIG_COMMON_BASE_TAKEN_NAME_H

/*
 * Returns path, which it takes over, or, if something of another user's lies there, a path that
 * nobody else can guess; the caller frees it.  All programs of this user get the same for the same
 * path and salt: it is made of a secret in the user's own folder secret_dir (NULL: path stays).
 * The salt names what ends together with the folder at path, as a name that was used once is known
 * to others.
 */
char *taken_name_avoid(char *path, const char *secret_dir, const char *salt);

#endif
