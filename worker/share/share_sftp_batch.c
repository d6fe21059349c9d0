/* SPDX-License-Identifier: MIT */
/* share_sftp_batch.c - many operations over SFTP for one purpose, such as a tree to be copied */

#include "worker/share/share_sftp_batch.h"

struct trip trip_of(const struct share_dir *there, int here_fd)
{
    return (struct trip){ .sftp = share_sftp_of(there), .there = there, .here_fd = here_fd };
}

void trip_fail(struct trip *t, const struct err *why)
{
    if (!t->has_failed)
        t->why = *why;
    t->has_failed = true;
}

bool trip_is_over(const struct trip *t)
{
    return t->has_failed || t->damaged != NULL;
}

void trip_start(struct trip *t, const struct sftp_op *op, sftp_done *done, void *context)
{
    struct err why = { 0 };

    if (sftp_start(t->sftp, op, done, context, &why) < 0)
        trip_fail(t, &why);
}

void trip_finish(struct trip *t)
{
    struct err why = { 0 };

    if (sftp_finish(t->sftp, &why) < 0)
        trip_fail(t, &why);
    t->asked_bytes = 0;
}

/* Also when it failed: what is in flight still points to what belongs to us. */
int trip_end(struct trip *t, struct err *e)
{
    trip_finish(t);
    if (t->has_failed)
        return share_sftp_fail(&t->why, e);
    if (t->damaged == NULL)
        return 0;
    return err_set(e, ERR_PROTOCOL, "%s is not the file that it should be", t->damaged->from);
}

void trip_on_done(void *context, const struct sftp_answer *answer)
{
    if (answer->error != NULL)
        trip_fail(context, answer->error);
}
