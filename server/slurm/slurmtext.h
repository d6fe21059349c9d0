/* SPDX-License-Identifier: MIT */
/*
 * slurmtext.h - the forms in which Slurm writes rows, numbers, times and sets
 *
 * What jobs are called is their users' choice, and may have any bytes in it: nothing here trusts
 * a text further than its form.
 */
#ifndef LUDWIG_SERVER_SLURM_SLURMTEXT_H
#define LUDWIG_SERVER_SLURM_SLURMTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/mem.h"

/* No number, or one without a limit: N/A, Unknown, UNLIMITED, (null), nothing at all. */
enum { SLURM_NONE = -1 };

enum { SLURM_CELLS_MAX = 16 };

/* Lines of cells.  A line whose cells are another number than n_cells is passed over. */
struct slurm_rows {
    const char *at, *end;
    char separator;
    size_t n_cells;
    size_t n_passed_over;
    char *cells[SLURM_CELLS_MAX]; /* of this row; in the arena */
};

void slurm_rows_begin(struct slurm_rows *r, const char *text, size_t n, char separator,
                      size_t n_cells);
bool slurm_rows_next(struct slurm_rows *r, struct arena *a);

/* Of a line "Key=value Key=value": the first value of that key, or NULL.  In the arena. */
char *slurm_value(const char *line, size_t n, const char *key, struct arena *a);

/* "17", "300 sec", "4+", "64K"; SLURM_NONE for anything else, and for more than 2^53. */
int64_t slurm_number(const char *text);
/* "30", "02:30", "1-02", "2-00:00:00" (where minutes are meant if it is but one number), in ms. */
int64_t slurm_time_ms(const char *text);
bool slurm_is_none(const char *text);

/* "0-9%2", "[3,7-11:2%4]", "5": how many there are; 0 if it is none. */
int64_t slurm_set_count(const char *set);
bool slurm_set_has(const char *set, int64_t index);

/* "gpu:a40:8(S:0-1),gpu:2,shard:8": the GPUs. */
int64_t slurm_gres_gpus(const char *gres);

/* "cpu=8,mem=64G,gres/gpu=2": the number of that name. */
int64_t slurm_tres(const char *tres, const char *name);

/* Is word one of "a,b,c"?  "ALL" has everything. */
bool slurm_list_has(const char *list, const char *word);

#endif
