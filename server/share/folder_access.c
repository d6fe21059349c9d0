/* SPDX-License-Identifier: MIT */
/* folder_access.c - what the kernel would let a user do with a folder */

#include "server/share/folder_access.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/xattr.h>

/* As in Linux's posix_acl_xattr.h, in little endian. */
enum { VERSION = 2, HEAD_BYTES = 4, ENTRY_BYTES = 8, LIST_MAX_BYTES = 64 * 1024 };
enum { OWNER = 0x01, USER = 0x02, GROUP_OWNER = 0x04, GROUP = 0x08, MASK = 0x10, OTHER = 0x20 };

static const char attribute[] = "system.posix_acl_access";

static uint32_t number(const uint8_t *at, size_t bytes)
{
    uint32_t n = 0;

    while (bytes-- > 0)
        n = n << 8 | at[bytes];
    return n;
}

static bool is_in(const struct groups *groups, gid_t gid)
{
    for (size_t i = 0; i < groups->n; i++)
        if (groups->items[i] == gid)
            return true;
    return false;
}

/* The first entry that is about the user decides: owner, named user, any group, all others.  The
 * mask limits all of them but owner and others. */
bool folder_access_by_list(const void *list, size_t n, const struct stat *st, uid_t uid,
                           const struct groups *groups, mode_t bits)
{
    const uint8_t *bytes = list;
    bool is_named = false, is_in_group = false, by_name = false, by_group = false, by_rest = false;
    mode_t mask = 7;

    if (st->st_uid == uid)
        return (st->st_mode >> 6 & bits) == bits;
    if (n < HEAD_BYTES || (n - HEAD_BYTES) % ENTRY_BYTES != 0 ||
        number(bytes, HEAD_BYTES) != VERSION)
        return false;
    for (size_t at = HEAD_BYTES; at < n; at += ENTRY_BYTES) {
        uint32_t tag = number(bytes + at, 2), id = number(bytes + at + 4, 4);
        bool allows = (number(bytes + at + 2, 2) & bits) == bits;

        if (tag == MASK) {
            mask = number(bytes + at + 2, 2);
        } else if (tag == USER && id == uid) {
            is_named = true;
            by_name = allows;
        } else if ((tag == GROUP_OWNER && is_in(groups, st->st_gid)) ||
                   (tag == GROUP && is_in(groups, id))) {
            is_in_group = true;
            by_group |= allows;
        } else if (tag == OTHER) {
            by_rest = allows;
        }
    }
    if (is_named || is_in_group)
        return (is_named ? by_name : by_group) && (mask & bits) == bits;
    return by_rest;
}

bool folder_access(const char *path, const struct stat *st, uid_t uid, const struct groups *groups,
                   mode_t bits)
{
    uint8_t list[LIST_MAX_BYTES];
    ssize_t n = lgetxattr(path, attribute, list, sizeof list);
    int shift = st->st_uid == uid ? 6 : is_in(groups, st->st_gid) ? 3 : 0;

    if (n >= 0 || (errno != ENODATA && errno != ENOTSUP))
        return folder_access_by_list(list, n < 0 ? 0 : (size_t)n, st, uid, groups, bits);
    return (st->st_mode >> shift & bits) == bits;
}
