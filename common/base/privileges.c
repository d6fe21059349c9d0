/* SPDX-License-Identifier: MIT */
/* privileges.c - a process that was root becomes a user, for good */

#include "common/base/privileges.h"

#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/keyctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

#include "common/base/buf.h"
#include "common/base/mem.h"

char *privileges_text(const struct account *a)
{
    struct buf text = { 0 };

    buf_printf(&text, "%u:%u:", (unsigned)a->uid, (unsigned)a->gid);
    for (size_t i = 0; i < a->n_groups; i++)
        buf_printf(&text, "%s%u", i > 0 ? "," : "", (unsigned)a->groups[i]);
    return buf_take(&text);
}

#ifdef __linux__
struct ids {
    uid_t uid;
    gid_t gid;
    gid_t *groups;
    size_t n_groups;
};

/* A number up to the end character, which is passed over; the largest one means "no change". */
static int take_id(const char **at, char end, unsigned *id)
{
    char *after;
    unsigned long number;

    if (**at < '0' || **at > '9')
        return -1;
    errno = 0;
    number = strtoul(*at, &after, 10);
    if (errno != 0 || number >= (unsigned)-1 || *after != end)
        return -1;
    *id = (unsigned)number;
    *at = after + (end != '\0');
    return 0;
}

static int take_groups(const char *at, struct ids *ids)
{
    size_t capacity = 0;
    bool has_more = *at != '\0';

    while (has_more) {
        unsigned id;

        has_more = strchr(at, ',') != NULL;
        if (take_id(&at, has_more ? ',' : '\0', &id) < 0)
            return -1;
        mem_grow((void **)&ids->groups, &capacity, ids->n_groups, sizeof *ids->groups);
        ids->groups[ids->n_groups++] = id;
    }
    return 0;
}

static int parse(const char *text, struct ids *ids, struct err *e)
{
    const char *at = text;

    if (take_id(&at, ':', &ids->uid) < 0 || take_id(&at, ':', &ids->gid) < 0 ||
        take_groups(at, ids) < 0)
        return err_set(e, ERR_USAGE, "'%.80s' says nobody's rights", text);
    return 0;
}

/* In this order: without its uid, root may change nothing any more. */
static int become(const struct ids *ids, struct err *e)
{
    if (setgroups(ids->n_groups, ids->groups) < 0)
        return err_sys(e, "take the groups of uid %u", (unsigned)ids->uid);
    if (setresgid(ids->gid, ids->gid, ids->gid) < 0)
        return err_sys(e, "become gid %u", (unsigned)ids->gid);
    if (setresuid(ids->uid, ids->uid, ids->uid) < 0)
        return err_sys(e, "become uid %u", (unsigned)ids->uid);
    if (ids->uid != 0 && (setuid(0) == 0 || (ids->gid != 0 && setgid(0) == 0)))
        return err_set(e, ERR_DENIED, "uid %u could become root again", (unsigned)ids->uid);
    return 0;
}

int privileges_take(const char *text, struct err *e)
{
    struct ids ids = { .n_groups = 0 };
    int rc = parse(text, &ids, e);

    if (rc == 0)
        rc = become(&ids, e);
    free(ids.groups);
    if (rc < 0)
        return -1;
    /* Root's session keyring is not theirs.  Where there are no keyrings there is nothing to leave. */
    (void)syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
    if (prctl(PR_SET_DUMPABLE, 0) < 0)
        return err_sys(e, "close this process to others");
    return chdir("/") < 0 ? err_sys(e, "enter /") : 0;
}
#else
int privileges_take(const char *text, struct err *e)
{
    return err_set(e, ERR_FAILED, "to become %.80s takes Linux", text);
}
#endif
