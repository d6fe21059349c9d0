/* SPDX-License-Identifier: MIT */
/* slurmread.c - reads what Slurm's commands print */

#include "server/slurm/slurmread.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define LARGEST ((int64_t)1 << 53)

/* ---- numbers, times and sets ---- */

static const char *or_none(const char *text)
{
    static const char *const names[] = { "",        "N/A",       "NONE",     "(null)",
                                         "Unknown", "UNLIMITED", "INFINITE", "NOT_SET" };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcasecmp(text, names[i]) == 0)
            return NULL;
    return text;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Reads digits and moves *at behind them; SLURM_NONE when there are none, or too many. */
static int64_t take_digits(const char **at)
{
    int64_t number = 0;

    if (!is_digit(**at))
        return SLURM_NONE;
    for (; is_digit(**at); (*at)++) {
        if (number > LARGEST / 10)
            return SLURM_NONE;
        number = number * 10 + (**at - '0');
    }
    return number > LARGEST ? SLURM_NONE : number;
}

static int64_t times(int64_t number, int64_t factor)
{
    return number == SLURM_NONE || number > LARGEST / factor ? SLURM_NONE : number * factor;
}

int64_t slurm_number(const char *text)
{
    const char *at = text == NULL ? "" : text;
    int64_t number = take_digits(&at);

    if (*at == 'K' || *at == 'M' || *at == 'G') {
        int power = *at == 'K' ? 10 : *at == 'M' ? 20 : 30;

        number = times(number, (int64_t)1 << power);
        at++;
    }
    if (*at == '+')
        at++;
    return *at == '\0' || *at == ' ' ? number : SLURM_NONE;
}

/* Job ids have 32 bits; the two largest numbers mean other things (NO_VAL, INFINITE). */
#define SLURM_JOB_ID_END ((int64_t)UINT32_MAX - 1)

int64_t slurm_job_id(const char *text)
{
    int64_t id = slurm_number(text);

    return id > 0 && id < SLURM_JOB_ID_END ? id : 0;
}

int64_t slurm_time_ms(const char *text)
{
    static const int64_t worth[] = { 3600, 60, 1 };
    const char *dash = text == NULL ? NULL : strchr(text, '-');
    const char *at = text;
    int64_t seconds = 0, parts[3];
    int n = 0, first;

    if (text == NULL)
        return SLURM_NONE;
    if (dash != NULL) {
        seconds = times(take_digits(&at), 86400);
        if (at != dash || seconds == SLURM_NONE)
            return SLURM_NONE;
        at++;
    }
    do {
        if (n == 3)
            return SLURM_NONE;
        parts[n] = take_digits(&at);
        if (parts[n++] == SLURM_NONE)
            return SLURM_NONE;
    } while (*at++ == ':');
    if (at[-1] != '\0')
        return SLURM_NONE;
    /* Behind days hours come first; without days seconds come last, but one number is minutes. */
    first = dash != NULL || n == 3 ? 0 : 1;
    for (int i = 0; i < n; i++) {
        int64_t part = times(parts[i], worth[first + i]);

        if (part == SLURM_NONE)
            return SLURM_NONE;
        seconds += part;
    }
    return times(seconds, 1000);
}

struct range {
    int64_t first, last, step;
};

/* Reads "7", "7-11", "7-11:2" and the comma behind it. */
static bool take_range(const char **at, struct range *r)
{
    r->first = r->last = take_digits(at);
    r->step = 1;
    if (r->first != SLURM_NONE && **at == '-') {
        (*at)++;
        r->last = take_digits(at);
    }
    if (**at == ':') {
        (*at)++;
        r->step = take_digits(at);
    }
    if (r->first == SLURM_NONE || r->last < r->first || r->step < 1)
        return false;
    *at += **at == ',';
    return true;
}

static const char *set_begin(const char *set)
{
    return set == NULL ? "" : set + (*set == '[');
}

int64_t slurm_set_count(const char *set)
{
    const char *at = set_begin(set);
    struct range r;
    int64_t count = 0;

    while (take_range(&at, &r) && count < LARGEST)
        count += (r.last - r.first) / r.step + 1;
    return *at == '\0' || *at == '%' || *at == ']' ? count : 0;
}

bool slurm_set_has(const char *set, int64_t index)
{
    const char *at = set_begin(set);
    struct range r;

    while (take_range(&at, &r))
        if (index >= r.first && index <= r.last && (index - r.first) % r.step == 0)
            return true;
    return false;
}

/* Reads the count behind "gpu": ":8", ":a40:8", or nothing, which is one; parentheses say where
 * GPUs are. */
static int64_t gpus_of(const char *at, size_t n)
{
    const char *colon = memrchr(at, ':', n);
    int64_t number;

    if (n == 0)
        return 1;
    if (*at != ':')
        return 0;
    colon++;
    number = take_digits(&colon);
    return number == SLURM_NONE ? 1 : number;
}

int64_t slurm_gres_gpus(const char *gres)
{
    const char *at = gres == NULL ? "" : gres;
    int64_t count = 0;

    while (*at != '\0' && count < LARGEST) {
        size_t name = strcspn(at, "(,");

        if (name >= 3 && strncmp(at, "gpu", 3) == 0)
            count += gpus_of(at + 3, name - 3);
        at += name;
        if (*at == '(')
            at += strcspn(at, ")");
        at += strcspn(at, ",");
        at += *at == ',';
    }
    return count;
}

/* In "a,b=3,c": the n bytes behind "b="; n is 0 for "a"; NULL for "d". */
static const char *find_value(const char *list, const char *separator, const char *name, size_t *n)
{
    size_t length = strlen(name);

    while (list != NULL && *list != '\0') {
        size_t item = strcspn(list, separator);

        if (item >= length && strncasecmp(list, name, length) == 0 &&
            (item == length || list[length] == '=')) {
            *n = item - length - (item > length);
            return list + item - *n;
        }
        list += item + (list[item] != '\0');
    }
    return NULL;
}

int64_t slurm_tres(const char *tres, const char *name)
{
    char number[32] = { 0 };
    size_t n;
    const char *value = find_value(tres, ",", name, &n);

    if (value == NULL || n >= sizeof number)
        return SLURM_NONE;
    memcpy(number, value, n);
    return slurm_number(number);
}

/* ---- rows ---- */

enum { CELLS_MAX = 16 };

/* How a cell is read; a row with a malformed cell is passed over. */
enum cell {
    SKIPPED,
    TEXT,
    NAME,         /* a text that is not empty */
    TEXT_OR_NONE, /* NULL: none */
    TASKS,        /* a set, or NULL */
    NUMBER,
    ID,    /* a number above 0 */
    COUNT, /* a number, 0 or more */
    TIME,
    GPUS,
    USABLE,   /* whether nodes in that state take jobs */
    ARRAY_ID, /* "17", "17_3", "17_[4-9%2]", of a struct slurm_ended */
    SIGNAL    /* of "EXIT_CODE:SIGNAL" */
};

struct column {
    enum cell kind;
    size_t offset;
};

static const struct column jobs[] = {
    { ID, offsetof(struct slurm_job, id) },
    { ID, offsetof(struct slurm_job, array_id) },
    { TASKS, offsetof(struct slurm_job, tasks) },
    { TEXT, offsetof(struct slurm_job, state) },
    { SKIPPED, 0 },
    { NUMBER, offsetof(struct slurm_job, submitted_s) },
    { SKIPPED, 0 },
    { SKIPPED, 0 },
    { SKIPPED, 0 },
    { TEXT, offsetof(struct slurm_job, user) },
    { TEXT, offsetof(struct slurm_job, reason) },
    { TEXT, offsetof(struct slurm_job, name) },
    { TEXT_OR_NONE, offsetof(struct slurm_job, comment) },
};

static const struct column ended[] = {
    { ID, offsetof(struct slurm_ended, id) },
    { ARRAY_ID, 0 },
    { TEXT, offsetof(struct slurm_ended, state) },
    { SIGNAL, offsetof(struct slurm_ended, signal) },
    { SKIPPED, 0 },
    { NUMBER, offsetof(struct slurm_ended, submitted_s) },
    { SKIPPED, 0 },
    { SKIPPED, 0 },
    { SKIPPED, 0 },
    { SKIPPED, 0 },
    { TEXT, offsetof(struct slurm_ended, name) },
};

static const struct column nodes[] = {
    { NAME, offsetof(struct slurm_nodes, partition) },
    { SKIPPED, 0 },
    { USABLE, offsetof(struct slurm_nodes, is_usable) },
    { COUNT, offsetof(struct slurm_nodes, n) },
    { COUNT, offsetof(struct slurm_nodes, cpus) },
    { COUNT, offsetof(struct slurm_nodes, memory_mb) },
    { SKIPPED, 0 },
    { GPUS, offsetof(struct slurm_nodes, gpus) },
    { TIME, offsetof(struct slurm_nodes, max_time_ms) },
    { TIME, offsetof(struct slurm_nodes, default_time_ms) },
};

static const struct column assocs[] = {
    { SKIPPED, 0 },
    { NAME, offsetof(struct slurm_assoc, account) },
    { TEXT, offsetof(struct slurm_assoc, user) },
    { TEXT_OR_NONE, offsetof(struct slurm_assoc, partition) },
    { SKIPPED, 0 },
    { TEXT_OR_NONE, offsetof(struct slurm_assoc, default_qos) },
    { NUMBER, offsetof(struct slurm_assoc, max_jobs) },
    { NUMBER, offsetof(struct slurm_assoc, max_submit) },
    { NUMBER, offsetof(struct slurm_assoc, group_jobs) },
    { NUMBER, offsetof(struct slurm_assoc, group_submit) },
    { TIME, offsetof(struct slurm_assoc, max_time_ms) },
    { TEXT_OR_NONE, offsetof(struct slurm_assoc, parent) },
    { TEXT, offsetof(struct slurm_assoc, group_tres) },
    { TEXT, offsetof(struct slurm_assoc, max_tres_per_job) },
};

static const struct column qos[] = {
    { NAME, offsetof(struct slurm_qos, name) },
    { NUMBER, offsetof(struct slurm_qos, max_jobs_per_user) },
    { NUMBER, offsetof(struct slurm_qos, max_submit_per_user) },
    { NUMBER, offsetof(struct slurm_qos, group_jobs) },
    { NUMBER, offsetof(struct slurm_qos, group_submit) },
    { TIME, offsetof(struct slurm_qos, max_time_ms) },
    { SKIPPED, 0 },
    { SKIPPED, 0 },
    { SKIPPED, 0 },
    { TEXT, offsetof(struct slurm_qos, group_tres) },
    { TEXT, offsetof(struct slurm_qos, max_tres_per_user) },
    { TEXT, offsetof(struct slurm_qos, max_tres_per_job) },
};

static const struct column users[] = {
    { NAME, offsetof(struct slurm_account_user, name) },
    { TEXT_OR_NONE, offsetof(struct slurm_account_user, account) },
};

static const struct reader {
    const char *what, *separator;
    size_t item_bytes;
    const struct column *columns;
    size_t n_columns;
} readers[] = {
#define READER(what, separator, type, columns)                                          \
    {                                                                                   \
        what, separator, sizeof(struct type), columns, sizeof columns / sizeof *columns \
    }
    [SLURM_JOBS] = READER("jobs", SLURM_SEPARATOR, slurm_job, jobs),
    [SLURM_ENDED] = READER("jobs that ended", SLURM_SEPARATOR, slurm_ended, ended),
    [SLURM_NODES] = READER("nodes", SLURM_SEPARATOR, slurm_nodes, nodes),
    [SLURM_ASSOCS] = READER("associations", "|", slurm_assoc, assocs),
    [SLURM_QOS] = READER("QOS", "|", slurm_qos, qos),
    [SLURM_USERS] = READER("users", "|", slurm_account_user, users),
#undef READER
};

/* Sets *line and *n to the next line and moves *at behind it; false at the end. */
static bool next_line(const char **at, const char *end, const char **line, size_t *n)
{
    const char *stop;

    if (*at >= end)
        return false;
    *line = *at;
    stop = memchr(*at, '\n', (size_t)(end - *at));
    *n = (size_t)((stop == NULL ? end : stop) - *at);
    *at = stop == NULL ? end : stop + 1;
    return true;
}

/* Whether nodes in that state take jobs.  Of the signs behind a state '~', '#' and '%' are about
 * power; a node with '*' does not answer. */
static bool takes_jobs(const char *state)
{
    static const char *const usable[] = { "idle", "mixed", "allocated", "completing", "planned" };
    size_t n = strcspn(state, "~#!%@^-$");

    for (size_t i = 0; i < sizeof usable / sizeof *usable; i++)
        if (strlen(usable[i]) == n && strncmp(state, usable[i], n) == 0)
            return true;
    return false;
}

static bool read_array_id(char *cell, struct slurm_ended *j)
{
    char *bar = strchr(cell, '_');

    if (bar != NULL)
        *bar++ = '\0';
    j->tasks = bar;
    j->array_id = slurm_number(cell);
    return j->array_id > 0 && (bar == NULL || slurm_set_count(bar) > 0);
}

/* False when the cell is malformed. */
static bool read_cell(const struct column *column, char *cell, void *item)
{
    void *to = (char *)item + column->offset;
    const char *colon, **text = to;
    int64_t *number = to;

    switch (column->kind) {
    case SKIPPED: return true;
    case TEXT: *text = cell; return true;
    case NAME: *text = cell; return *cell != '\0';
    case TEXT_OR_NONE: *text = or_none(cell); return true;
    case TASKS: *text = or_none(cell); return *text == NULL || slurm_set_count(*text) > 0;
    case NUMBER: *number = slurm_number(cell); return true;
    case ID: *number = slurm_number(cell); return *number > 0;
    case COUNT: *number = slurm_number(cell); return *number >= 0;
    case TIME: *number = slurm_time_ms(cell); return true;
    case GPUS: *number = slurm_gres_gpus(cell); return true;
    case USABLE: *(bool *)to = takes_jobs(cell); return true;
    case ARRAY_ID: return read_array_id(cell, item);
    case SIGNAL:
        colon = strchr(cell, ':');
        *number = colon == NULL ? SLURM_NONE : slurm_number(colon + 1);
        return true;
    }
    return false;
}

/* Reads a line of as many cells as the reader has, none of which has a NUL in it. */
static bool read_row(const struct reader *r, const char *line, size_t n, struct arena *a,
                     void *item)
{
    char *rest = arena_strndup(a, line, n), *cells[CELLS_MAX];
    size_t n_cells = 0;

    if (strlen(rest) != n)
        return false;
    while (rest != NULL && n_cells < r->n_columns)
        cells[n_cells++] = strsep(&rest, r->separator);
    if (rest != NULL || n_cells < r->n_columns)
        return false;
    for (size_t i = 0; i < n_cells; i++)
        if (!read_cell(&r->columns[i], cells[i], item))
            return false;
    return true;
}

/* Makes room for one item per line; NULL when there are too many. */
static void *begin_answer(const char *what, size_t item_bytes, const char *text, size_t n,
                          struct arena *a, struct slurm_answer *out, struct err *e)
{
    size_t lines = 1;

    *out = (struct slurm_answer){ .n = 0 };
    for (size_t i = 0; i < n; i++)
        lines += text[i] == '\n';
    if (lines > SLURM_ROWS_MAX) {
        err_set(e, ERR_PROTOCOL, "Slurm has more %s than are read: over %d", what, SLURM_ROWS_MAX);
        return NULL;
    }
    out->jobs = arena_alloc(a, lines * item_bytes);
    return out->jobs;
}

int slurm_read(enum slurm_rows rows, const char *text, size_t n, struct arena *a,
               struct slurm_answer *out, struct err *e)
{
    const struct reader *r = &readers[rows];
    char *items = begin_answer(r->what, r->item_bytes, text, n, a, out, e);
    const char *at = text, *line;
    size_t line_n;

    if (items == NULL)
        return -1;
    while (next_line(&at, text + n, &line, &line_n)) {
        if (line_n == 0)
            continue;
        if (read_row(r, line, line_n, a, items + out->n * r->item_bytes))
            out->n++;
        else
            out->n_passed_over++;
    }
    return 0;
}

void slurm_keep_marked(const char *text, size_t n, const char *mark, struct buf *out)
{
    const char *at = text, *line;
    size_t line_n, mark_n = strlen(mark);

    while (next_line(&at, text + n, &line, &line_n))
        if (line_n >= mark_n && memcmp(line, mark, mark_n) == 0) {
            buf_add(out, line + mark_n, line_n - mark_n);
            buf_add_char(out, '\n');
        }
}

/* A site's wrapper of sbatch may print something before the id, and may drop --parsable. */
int slurm_read_submitted(const char *text, size_t n, int64_t *id, struct err *e)
{
    static const char usual[] = "Submitted batch job ";
    const char *at = text, *line;
    size_t line_n;

    *id = 0;
    while (next_line(&at, text + n, &line, &line_n)) {
        char *words = mem_strndup(line, line_n > 256 ? 256 : line_n), *number = words;

        words[strcspn(words, ";\r")] = '\0';
        if (strncmp(words, usual, strlen(usual)) == 0)
            number += strlen(usual);
        else if (strspn(words, "0123456789") < strlen(words))
            number += strlen(words);
        if (slurm_job_id(number) > 0)
            *id = slurm_job_id(number);
        free(words);
    }
    if (*id <= 0)
        return err_set(e, ERR_PROTOCOL, "sbatch says no job id: '%.*s'", n > 80 ? 80 : (int)n,
                       text);
    return 0;
}

/* ---- scontrol ---- */

static const char *value_of(const char *line, const char *key, struct arena *a)
{
    size_t n;
    const char *value = find_value(line, " ", key, &n);

    return value == NULL ? NULL : or_none(arena_strndup(a, value, n));
}

int slurm_read_partitions(const char *text, size_t n, struct arena *a, struct slurm_answer *out,
                          struct err *e)
{
    struct slurm_partition *items = begin_answer("partitions", sizeof *items, text, n, a, out, e);
    const char *at = text, *line;
    size_t line_n;

    if (items == NULL)
        return -1;
    while (next_line(&at, text + n, &line, &line_n)) {
        const char *pairs = arena_strndup(a, line, line_n);
        const char *name = value_of(pairs, "PartitionName", a);

        if (name != NULL)
            items[out->n++] = (struct slurm_partition){ name, value_of(pairs, "QoS", a) };
        else
            out->n_passed_over += line_n > 0;
    }
    return 0;
}

/* The value in a line "Key = value". */
static char *setting(const char *text, size_t n, const char *key, struct arena *a)
{
    const char *at = text, *line;
    size_t length = strlen(key), line_n;

    while (next_line(&at, text + n, &line, &line_n)) {
        const char *sign = memchr(line, '=', line_n);
        size_t skip = sign == NULL ? 0 : (size_t)(sign - line) + 1;

        if (sign == NULL || line_n < length || strncmp(line, key, length) != 0 ||
            (line[length] != ' ' && line[length] != '='))
            continue;
        skip += skip < line_n && line[skip] == ' ';
        return arena_strndup(a, line + skip, line_n - skip);
    }
    return NULL;
}

static int64_t parameter_or(const char *list, const char *name, int64_t otherwise, struct arena *a)
{
    size_t n;
    const char *value = find_value(list, ",", name, &n);
    int64_t number = value == NULL ? SLURM_NONE : slurm_number(arena_strndup(a, value, n));

    return number == SLURM_NONE ? otherwise : number;
}

int slurm_read_config(const char *text, size_t n, struct arena *a, struct slurm_config *out,
                      struct err *e)
{
    const char *cluster = setting(text, n, "ClusterName", a);
    const char *accounting = setting(text, n, "AccountingStorageType", a);
    const char *controller = setting(text, n, "SlurmctldParameters", a);
    int major, minor;
    size_t length;

    *out = (struct slurm_config){ .version = setting(text, n, "SLURM_VERSION", a) };
    if (out->version == NULL || sscanf(out->version, "%3d.%3d", &major, &minor) != 2)
        return err_set(e, ERR_PROTOCOL, "scontrol show config says no version of Slurm");
    out->cluster = cluster == NULL ? "" : cluster;
    out->max_array_size = slurm_number(setting(text, n, "MaxArraySize", a));
    out->kill_wait_s = slurm_number(setting(text, n, "KillWait", a));
    out->has_accounting =
        accounting != NULL && strcmp(accounting, "accounting_storage/slurmdbd") == 0;
    out->warns_of_preemption =
        find_value(controller, ",", "preempt_send_user_signal", &length) != NULL;
    if (find_value(controller, ",", "rl_enable", &length) != NULL) {
        out->rpc_bucket = parameter_or(controller, "rl_bucket_size", 30, a);
        out->rpc_refill = parameter_or(controller, "rl_refill_rate", 2, a);
        out->rpc_refill_period_s = parameter_or(controller, "rl_refill_period", 1, a);
    }
    return 0;
}
