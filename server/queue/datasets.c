/* SPDX-License-Identifier: MIT */
/* datasets.c - which sweeps need which trees */

#include "server/queue/datasets.h"

#include "server/base/turn.h"

static int take(struct server *sv, int64_t project, int64_t sweep, const char *name,
                const struct dataset *set, struct err *e)
{
    int64_t dataset = 0;

    if (digest_is_zero(&set->tree))
        return 0;
    if (db_get_int(sv->db, e, &dataset, SQL_DATASET_TAKE, "iddsiii", project, &set->tree, &set->id,
                   name, set->files, set->bytes, turn_now_ms(sv)) < 0)
        return -1;
    return db_run(sv->db, e, SQL_SWEEP_DATASET_ADD, "ii", sweep, dataset) < 0 ? -1 : 0;
}

int datasets_take(struct server *sv, int64_t project, int64_t sweep, const struct jobspec *w,
                  struct err *e)
{
    const struct data_entry *data = w->data.items;

    for (size_t i = 0; i < w->data.n; i++)
        if (take(sv, project, sweep, data[i].name, &data[i].set, e) < 0)
            return -1;
    return take(sv, project, sweep, "", &w->source, e);
}
