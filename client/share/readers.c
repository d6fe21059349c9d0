/* SPDX-License-Identifier: MIT */
/* readers.c - who beside their owner may read all of some files */
#include "client/share/readers.h"

#define NO_GROUP ((gid_t)-1)

void readers_join(struct readers *r, const struct readers *other)
{
    r->not_others |= other->not_others;
    r->not_group |=
        other->not_group || (r->has_group && other->has_group && r->group != other->group);
    if (other->has_group)
        r->group = other->group;
    r->has_group |= other->has_group;
}

void readers_add(struct readers *r, const struct stat *st)
{
    mode_t bits = S_ISDIR(st->st_mode) ? 05 : 04;

    if ((st->st_mode & bits) == bits)
        return;
    readers_join(r, &(struct readers){ .not_others = true,
                                       .not_group = (st->st_mode >> 3 & bits) != bits,
                                       .has_group = true,
                                       .group = st->st_gid });
}

bool readers_has_group(const struct readers *r, const struct share_stat *folder)
{
    return !r->not_group &&
           (!r->has_group || folder->group == NO_GROUP || r->group == folder->group);
}

mode_t readers_limit(const struct readers *r, const struct share_stat *folder)
{
    mode_t mode = folder->mode & 07777;

    if (r->not_others)
        mode &= ~(mode_t)07;
    if (!readers_has_group(r, folder))
        mode &= ~(mode_t)070;
    return mode;
}
