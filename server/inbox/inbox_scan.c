/* SPDX-License-Identifier: MIT */
/* inbox_scan.c - make the folders of users, find those that are there */
#include "server/inbox/inbox_scan.h"

#include <pwd.h>
#include <stdlib.h>

#include "common/base/mem.h"
#include "server/base/identity.h"

static bool may_have_one(const struct inbox_scan *s, uid_t uid)
{
    return identity_is_known(uid) && (uid >= s->min_uid || uid == s->dirs->self);
}

static void make_for(const struct inbox_scan *s, uid_t uid)
{
    gid_t gid;
    char *user;

    if (may_have_one(s, uid) && identity_primary_group(uid, &gid, NULL) == 0) {
        user = identity_user_name(uid);
        inbox_dir_make_box(s->dirs, uid, gid, user);
        free(user);
    } else if (uid == s->dirs->self) { /* one that no account knows, as in containers */
        inbox_dir_make_box(s->dirs, uid, (gid_t)-1, "-");
    }
}

/* The only place that lists users: there is one list in a process. */
static void make_for_all(const struct inbox_scan *s)
{
    const struct passwd *entry;
    int n = 0;

    setpwent();
    while (n < INBOX_USERS_MAX && (entry = getpwent()) != NULL)
        if (may_have_one(s, entry->pw_uid)) {
            inbox_dir_make_box(s->dirs, entry->pw_uid, entry->pw_gid, entry->pw_name);
            n++;
        }
    endpwent();
}

static int compare_uids(const void *x, const void *y)
{
    const uid_t *a = x, *b = y;

    return *a < *b ? -1 : *a > *b;
}

static void note(void *context, uid_t uid)
{
    struct inbox_scan *s = context;

    if (s->n_found >= INBOX_USERS_MAX || !identity_is_known(uid) ||
        (s->n_known > 0 &&
         bsearch(&uid, s->known, s->n_known, sizeof *s->known, compare_uids) != NULL))
        return;
    mem_grow((void **)&s->found, &s->found_capacity, s->n_found, sizeof *s->found);
    s->found[s->n_found++] = uid;
}

void inbox_scan_run(struct inbox_scan *s)
{
    s->n_found = 0;
    make_for(s, s->dirs->self);
    if (s->makes_all && s->dirs->is_root)
        make_for_all(s);
    for (size_t i = 0; i < s->n_met; i++)
        make_for(s, s->met[i]);
    (void)inbox_dir_each_box(s->dirs, note, s, NULL);
    for (size_t i = 0; i < s->n_found; i++)
        make_for(s, s->found[i]); /* the link by name */
}

void inbox_scan_free(struct inbox_scan *s)
{
    free(s->met);
    free(s->known);
    free(s->found);
    *s = (struct inbox_scan){ 0 };
}
