/* SPDX-License-Identifier: MIT */
/* backup.c - a copy of the database beside it, while ludwigd goes on working */
#include "server/loop/backup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/path.h"
#include "common/base/units.h"

struct backup {
    uv_timer_t timer;
    struct server *sv;
    struct db_backup *copy;
    char *path, *partial; /* the backup's name, and its name until it is complete */
    int64_t began_ms;
};

static void on_closed(uv_handle_t *handle)
{
    struct backup *b = handle->data;

    free(b->path);
    free(b->partial);
    free(b);
}

void backup_end(struct server *sv)
{
    struct backup *b = sv->backup;

    if (b == NULL)
        return;
    sv->backup = NULL;
    db_backup_end(b->copy);
    if (unlink(b->partial) < 0 && errno != ENOENT)
        log_event(LOG_WARN, "no-backup", "path", "%s", b->partial, "errno", "%d", errno, NULL);
    uv_close((uv_handle_t *)&b->timer, on_closed);
}

/* Copies a piece in each round of the loop, so that no peer waits for the whole copy. */
static void on_round(uv_timer_t *timer)
{
    struct backup *b = timer->data;
    struct err e = { 0 };
    int rc = db_backup_step(b->copy, &e);

    if (rc > 0)
        return;
    db_backup_end(b->copy);
    b->copy = NULL;
    if (rc == 0 && rename(b->partial, b->path) < 0)
        rc = err_sys(&e, "rename %s", b->partial);
    if (rc == 0)
        log_event(LOG_INFO, "backup", "path", "%s", b->path, "ms", "%lld",
                  (long long)(units_monotonic_ms() - b->began_ms), NULL);
    else
        log_event(LOG_ERROR, "no-backup", "why", "%s", e.text, NULL);
    backup_end(b->sv);
}

void backup_begin(struct server *sv)
{
    struct backup *b;
    struct err e = { 0 };

    if (sv->backup != NULL)
        return;
    b = mem_alloc(sizeof *b);
    b->sv = sv;
    b->path = path_join(sv->conf.state, "ludwig.db.backup");
    b->partial = path_join(sv->conf.state, ".ludwig.db.backup.new");
    b->began_ms = units_monotonic_ms();
    b->timer.data = b;
    sv->backup = b;
    uv_timer_init(&sv->loop, &b->timer);
    if (unlink(b->partial) < 0 && errno != ENOENT)
        err_sys(&e, "remove %s", b->partial);
    else
        b->copy = db_backup_begin(sv->db, b->partial, &e);
    if (b->copy != NULL && uv_timer_start(&b->timer, on_round, 0, 1) == 0)
        return;
    log_event(LOG_ERROR, "no-backup", "why", "%s", e.text, NULL);
    backup_end(sv);
}
