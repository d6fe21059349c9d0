/* SPDX-License-Identifier: MIT */
/* slurmread.c - what Slurm's commands print, as values */

#include "server/slurm/slurmread.h"

#include <string.h>

#define SEPARATOR (SLURM_SEPARATOR[0])

/* What reads one kind of row: -1 when it is none of its kind. */
struct reader {
    const char *what;
    char separator;
    size_t n_cells;
    size_t item_bytes;
    int (*read)(char *const *cells, struct arena *a, void *item);
};

static int check_size(const char *what, size_t n, struct err *e)
{
    if (n > SLURM_OUTPUT_MAX_BYTES)
        return err_set(e, ERR_PROTOCOL, "Slurm says more about %s than is read: %zu bytes", what,
                       n);
    return 0;
}

static int too_many(const char *what, struct err *e)
{
    return err_set(e, ERR_PROTOCOL, "Slurm has more %s than are read: over %d", what,
                   SLURM_ROWS_MAX);
}

static size_t count_lines(const char *text, size_t n)
{
    size_t lines = 1;

    for (size_t i = 0; i < n; i++)
        lines += text[i] == '\n';
    return lines;
}

static int read_rows(const struct reader *reader, const char *text, size_t n, struct arena *a,
                     struct slurm_answer *out, struct err *e)
{
    struct slurm_rows rows;
    size_t lines;
    char *items;

    *out = (struct slurm_answer){ .n = 0 };
    if (check_size(reader->what, n, e) < 0)
        return -1;
    lines = count_lines(text, n);
    if (lines > SLURM_ROWS_MAX)
        return too_many(reader->what, e);
    items = arena_alloc(a, lines * reader->item_bytes);
    slurm_rows_begin(&rows, text, n, reader->separator, reader->n_cells);
    while (slurm_rows_next(&rows, a)) {
        if (reader->read(rows.cells, a, items + out->n * reader->item_bytes) == 0)
            out->n++;
        else
            out->n_passed_over++;
    }
    out->n_passed_over += rows.n_passed_over;
    out->jobs = (void *)items;
    return 0;
}

static const char *or_none(const char *text)
{
    return slurm_is_none(text) ? NULL : text;
}

/* ---- squeue ---- */

enum {
    J_ID,
    J_ARRAY,
    J_TASKS,
    J_STATE,
    J_PARTITION,
    J_SUBMIT,
    J_START,
    J_END,
    J_NODES,
    J_USER,
    J_REASON,
    J_NAME,
    J_COMMENT,
    J_CELLS
};

static int read_job(char *const *cells, struct arena *a, void *item)
{
    struct slurm_job j = { .id = slurm_number(cells[J_ID]),
                           .array_id = slurm_number(cells[J_ARRAY]),
                           .tasks = or_none(cells[J_TASKS]),
                           .state = cells[J_STATE],
                           .partition = cells[J_PARTITION],
                           .submitted_s = slurm_number(cells[J_SUBMIT]),
                           .starts_s = slurm_number(cells[J_START]),
                           .ends_s = slurm_number(cells[J_END]),
                           .nodes = cells[J_NODES],
                           .user = cells[J_USER],
                           .reason = cells[J_REASON],
                           .name = cells[J_NAME],
                           .comment = or_none(cells[J_COMMENT]) };

    (void)a;
    if (j.id <= 0 || j.array_id <= 0 || (j.tasks != NULL && slurm_set_count(j.tasks) == 0))
        return -1;
    *(struct slurm_job *)item = j;
    return 0;
}

int slurm_read_jobs(const char *text, size_t n, struct arena *a, struct slurm_answer *out,
                    struct err *e)
{
    static const struct reader reader = { "jobs", SEPARATOR, J_CELLS, sizeof(struct slurm_job),
                                          read_job };

    return read_rows(&reader, text, n, a, out, e);
}

/* ---- sacct ---- */

enum {
    E_RAW,
    E_ID,
    E_STATE,
    E_EXIT,
    E_PARTITION,
    E_SUBMIT,
    E_START,
    E_END,
    E_NODES,
    E_USER,
    E_NAME,
    E_CELLS
};

/* "17", "17_3", "17_[4-9%2]": of which array, and which of it. */
static int split_id(const char *text, struct arena *a, int64_t *array_id, const char **tasks)
{
    const char *bar = strchr(text, '_');

    *tasks = bar == NULL ? NULL : bar + 1;
    if (*tasks != NULL && slurm_set_count(*tasks) == 0)
        return -1;
    *array_id = slurm_number(bar == NULL ? text : arena_strndup(a, text, (size_t)(bar - text)));
    return *array_id > 0 ? 0 : -1;
}

static void split_exit(const char *text, struct arena *a, struct slurm_ended *j)
{
    const char *colon = strchr(text, ':');

    j->exit_code =
        colon == NULL ? SLURM_NONE : slurm_number(arena_strndup(a, text, (size_t)(colon - text)));
    j->signal = colon == NULL ? SLURM_NONE : slurm_number(colon + 1);
}

static int read_ended(char *const *cells, struct arena *a, void *item)
{
    struct slurm_ended j = { .id = slurm_number(cells[E_RAW]),
                             .state = cells[E_STATE],
                             .partition = cells[E_PARTITION],
                             .submitted_s = slurm_number(cells[E_SUBMIT]),
                             .started_s = slurm_number(cells[E_START]),
                             .ended_s = slurm_number(cells[E_END]),
                             .nodes = cells[E_NODES],
                             .user = cells[E_USER],
                             .name = cells[E_NAME] };

    if (j.id <= 0 || split_id(cells[E_ID], a, &j.array_id, &j.tasks) < 0)
        return -1;
    split_exit(cells[E_EXIT], a, &j);
    *(struct slurm_ended *)item = j;
    return 0;
}

int slurm_read_ended(const char *text, size_t n, struct arena *a, struct slurm_answer *out,
                     struct err *e)
{
    static const struct reader reader = { "jobs that ended", SEPARATOR, E_CELLS,
                                          sizeof(struct slurm_ended), read_ended };

    return read_rows(&reader, text, n, a, out, e);
}

/* ---- sinfo ---- */

enum {
    N_PARTITION,
    N_AVAIL,
    N_STATE,
    N_COUNT,
    N_CPUS,
    N_MEMORY,
    N_FEATURES,
    N_GRES,
    N_MAX_TIME,
    N_DEFAULT_TIME,
    N_CELLS
};

/* "idle", "mixed", "allocated" and so on; '~', '#' and '%' are about power, '*' does not answer. */
static bool takes_jobs(const char *state)
{
    static const char *const usable[] = { "idle", "mixed", "allocated", "completing", "planned" };
    size_t n = strcspn(state, "~#!%@^-$");

    for (size_t i = 0; i < sizeof usable / sizeof *usable; i++)
        if (strlen(usable[i]) == n && strncmp(state, usable[i], n) == 0)
            return true;
    return false;
}

static int read_nodes(char *const *cells, struct arena *a, void *item)
{
    struct slurm_nodes nodes = { .partition = cells[N_PARTITION],
                                 .is_up = strcmp(cells[N_AVAIL], "up") == 0,
                                 .is_usable = takes_jobs(cells[N_STATE]),
                                 .state = cells[N_STATE],
                                 .n = slurm_number(cells[N_COUNT]),
                                 .cpus = slurm_number(cells[N_CPUS]),
                                 .memory_mb = slurm_number(cells[N_MEMORY]),
                                 .gpus = slurm_gres_gpus(cells[N_GRES]),
                                 .features = or_none(cells[N_FEATURES]),
                                 .gres = or_none(cells[N_GRES]),
                                 .max_time_ms = slurm_time_ms(cells[N_MAX_TIME]),
                                 .default_time_ms = slurm_time_ms(cells[N_DEFAULT_TIME]) };

    (void)a;
    if (*nodes.partition == '\0' || nodes.n < 0 || nodes.cpus < 0 || nodes.memory_mb < 0)
        return -1;
    *(struct slurm_nodes *)item = nodes;
    return 0;
}

int slurm_read_nodes(const char *text, size_t n, struct arena *a, struct slurm_answer *out,
                     struct err *e)
{
    static const struct reader reader = { "nodes", SEPARATOR, N_CELLS, sizeof(struct slurm_nodes),
                                          read_nodes };

    return read_rows(&reader, text, n, a, out, e);
}

/* ---- sacctmgr ---- */

enum {
    A_CLUSTER,
    A_ACCOUNT,
    A_USER,
    A_PARTITION,
    A_QOS,
    A_DEFAULT_QOS,
    A_MAX_JOBS,
    A_MAX_SUBMIT,
    A_GROUP_JOBS,
    A_GROUP_SUBMIT,
    A_MAX_WALL,
    A_PARENT,
    A_GROUP_TRES,
    A_MAX_TRES,
    A_CELLS
};

static int read_assoc(char *const *cells, struct arena *a, void *item)
{
    struct slurm_assoc assoc = { .cluster = cells[A_CLUSTER],
                                 .account = cells[A_ACCOUNT],
                                 .user = cells[A_USER],
                                 .partition = or_none(cells[A_PARTITION]),
                                 .qos = cells[A_QOS],
                                 .default_qos = or_none(cells[A_DEFAULT_QOS]),
                                 .max_jobs = slurm_number(cells[A_MAX_JOBS]),
                                 .max_submit = slurm_number(cells[A_MAX_SUBMIT]),
                                 .group_jobs = slurm_number(cells[A_GROUP_JOBS]),
                                 .group_submit = slurm_number(cells[A_GROUP_SUBMIT]),
                                 .max_time_ms = slurm_time_ms(cells[A_MAX_WALL]),
                                 .parent = or_none(cells[A_PARENT]),
                                 .group_tres = cells[A_GROUP_TRES],
                                 .max_tres_per_job = cells[A_MAX_TRES] };

    (void)a;
    if (*assoc.account == '\0')
        return -1;
    *(struct slurm_assoc *)item = assoc;
    return 0;
}

int slurm_read_assocs(const char *text, size_t n, struct arena *a, struct slurm_answer *out,
                      struct err *e)
{
    static const struct reader reader = { "associations", '|', A_CELLS, sizeof(struct slurm_assoc),
                                          read_assoc };

    return read_rows(&reader, text, n, a, out, e);
}

enum {
    Q_NAME,
    Q_MAX_JOBS,
    Q_MAX_SUBMIT,
    Q_GROUP_JOBS,
    Q_GROUP_SUBMIT,
    Q_MAX_WALL,
    Q_GRACE,
    Q_PREEMPT,
    Q_FLAGS,
    Q_GROUP_TRES,
    Q_USER_TRES,
    Q_MAX_TRES,
    Q_CELLS
};

static int read_qos(char *const *cells, struct arena *a, void *item)
{
    int64_t grace_ms = slurm_time_ms(cells[Q_GRACE]);
    struct slurm_qos qos = { .name = cells[Q_NAME],
                             .max_jobs_per_user = slurm_number(cells[Q_MAX_JOBS]),
                             .max_submit_per_user = slurm_number(cells[Q_MAX_SUBMIT]),
                             .group_jobs = slurm_number(cells[Q_GROUP_JOBS]),
                             .group_submit = slurm_number(cells[Q_GROUP_SUBMIT]),
                             .max_time_ms = slurm_time_ms(cells[Q_MAX_WALL]),
                             .grace_s = grace_ms == SLURM_NONE ? SLURM_NONE : grace_ms / 1000,
                             .preempts = cells[Q_PREEMPT],
                             .group_tres = cells[Q_GROUP_TRES],
                             .max_tres_per_user = cells[Q_USER_TRES],
                             .max_tres_per_job = cells[Q_MAX_TRES],
                             .denies_on_limit = slurm_list_has(cells[Q_FLAGS], "DenyOnLimit") };

    (void)a;
    if (*qos.name == '\0')
        return -1;
    *(struct slurm_qos *)item = qos;
    return 0;
}

int slurm_read_qos(const char *text, size_t n, struct arena *a, struct slurm_answer *out,
                   struct err *e)
{
    static const struct reader reader = { "QOS", '|', Q_CELLS, sizeof(struct slurm_qos), read_qos };

    return read_rows(&reader, text, n, a, out, e);
}

enum { U_NAME, U_ACCOUNT, U_CELLS };

static int read_user(char *const *cells, struct arena *a, void *item)
{
    (void)a;
    if (*cells[U_NAME] == '\0')
        return -1;
    *(struct slurm_account_user *)item =
        (struct slurm_account_user){ cells[U_NAME], or_none(cells[U_ACCOUNT]) };
    return 0;
}

int slurm_read_users(const char *text, size_t n, struct arena *a, struct slurm_answer *out,
                     struct err *e)
{
    static const struct reader reader = { "users", '|', U_CELLS, sizeof(struct slurm_account_user),
                                          read_user };

    return read_rows(&reader, text, n, a, out, e);
}

int slurm_read_submitted(const char *text, size_t n, int64_t *id, struct err *e)
{
    struct arena *a = arena_create();
    char *line = arena_strndup(a, text, n > 256 ? 256 : n);

    line[strcspn(line, ";\n")] = '\0';
    *id = slurm_number(line);
    arena_destroy(a);
    if (*id <= 0)
        return err_set(e, ERR_PROTOCOL, "sbatch says no job id: '%.*s'", n > 80 ? 80 : (int)n,
                       text);
    return 0;
}
