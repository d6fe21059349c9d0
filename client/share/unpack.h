/* SPDX-License-Identifier: MIT */
/*
 * unpack.h - unpacks a tree of a project on this machine, as it was when it was sent
 */
#ifndef LUDWIG_CLIENT_SHARE_UNPACK_H
#define LUDWIG_CLIENT_SHARE_UNPACK_H

#include "common/pack/pack.h"
#include "common/share/share.h"

/*
 * Makes the folder "to", which must not be there, and in it the tree with that id.  The packs are
 * not trusted: each entry is checked (pack_read.h), content by its digest, and nothing is made
 * outside of the folder; symlinks, which are made last, keep their targets.  drive: the folder of
 * projects.  A failure leaves what was made: ERR_EXISTS: the folder is there; ERR_NOT_FOUND: the
 * tree is not on the share any more; ERR_PROTOCOL: the packs are damaged.
 */
int unpack_tree(const struct share_dir *drive, const char *project, const struct digest *id,
                const char *to, struct pack_totals *totals, struct err *e);

#endif
