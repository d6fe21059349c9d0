/* SPDX-License-Identifier: MIT */
/* cmd_usage.c - ludwig usage */
#include <inttypes.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/query/pages.h"
#include "client/query/usage.h"
#include "client/session/session.h"
#include "client/share/disk_usage.h"
#include "client/term/jsonlist.h"
#include "client/term/output.h"
#include "client/term/table.h"
#include "common/base/units.h"

struct options {
    const char *since, *by;
    bool disk, waste, json;
};

static const struct opt options[] = {
    { "since", 0, OPT_STR, "TIME", offsetof(struct options, since), 0, 0,
      "only sweeps submitted since then: 7d and 12h count back from now, 2026-11-21 is a day" },
    { "by", 0, OPT_STR, "user|sweep", offsetof(struct options, by), 0, 0,
      "one line for each user (without this option), or for each sweep, newest first" },
    { "disk", 0, OPT_FLAG, NULL, offsetof(struct options, disk), 0, 0,
      "how many bytes each project takes on the shared drive, or with --by user each user" },
    { "waste", 0, OPT_FLAG, NULL, offsetof(struct options, waste), 0, 0,
      "what was asked for and not used: processors, memory and time, the worst first" },
    { "json", 0, OPT_FLAG, NULL, offsetof(struct options, json), 0, 0, "print JSON" },
    { 0 },
};

#define HOURS_COLUMNS                                                                    \
    { "ATTEMPTS", true, false }, { "HOURS", true, false }, { "CPU-HOURS", true, false }, \
        { "BUSY", true, false }, { "GPU-HOURS", true, false }, { "BUSY", true, false },  \
        { "GPU-PEAK", true, false }, { "SLURM", true, false },                           \
    {                                                                                    \
        "PEAK", true, false                                                              \
    }

static const struct column user_columns[] = {
    { "USER", false, true },
    { "SWEEPS", true, false },
    HOURS_COLUMNS,
};
static const struct column sweep_columns[] = {
    { "SWEEP", true, false }, { "PROJECT", false, true },    { "NAME", false, true },
    { "USER", false, true },  { "SUBMITTED", false, false }, HOURS_COLUMNS,
};

#define N_COLUMNS(columns) (sizeof(columns) / sizeof(columns)[0])

/* One run of the command. */
struct usage {
    bool by_sweep;
    struct usage_sums sums;
    struct jsonlist json;
    struct table *table; /* NULL: JSON */
    bool waste;
    struct usage_wastes wastes;
};

/* Adds hours; less than one hour in minutes and seconds, as it would often be 0.00. */
static void add_number(struct table *t, enum tone tone, double hours)
{
    struct buf text = { 0 };

    if (hours > 0 && hours < 1 && output_is_terminal(STDOUT_FILENO))
        units_add_duration(&text, (int64_t)(hours * 3600 * 1000 + 0.5));
    else if (hours > 0 && hours < 0.01)
        buf_add_str(&text, "<0.01");
    else
        buf_printf(&text, "%.2f", hours);
    table_add_buf(t, tone, &text);
}

static void add_peak(struct table *t, enum tone tone, int64_t max_rss_bytes)
{
    struct buf text = { 0 };

    if (max_rss_bytes > 0)
        units_add_size(&text, max_rss_bytes);
    else
        buf_add_char(&text, '-');
    table_add_buf(t, tone, &text);
}

static void add_hours(struct table *t, enum tone tone, const struct usage_sum *sum)
{
    table_printf(t, tone, "%" PRId64, sum->attempts);
    add_number(t, tone, sum->hours);
    add_number(t, tone, sum->cpu_hours);
    if (sum->cpu_hours > 0)
        table_printf(t, tone, "%.0f%%", 100 * sum->busy_cpu_hours / sum->cpu_hours);
    else
        table_add(t, tone, "-");
    add_number(t, tone, sum->gpu_hours);
    if (sum->seen_gpu_hours > 0)
        table_printf(t, tone, "%.0f%%", 100 * sum->busy_gpu_hours / sum->seen_gpu_hours);
    else
        table_add(t, tone, "-");
    add_peak(t, tone, sum->gpu_memory_bytes);
    add_number(t, tone, sum->pilot_cpu_hours);
    add_peak(t, tone, sum->max_rss_bytes);
}

static void add_sweep(struct table *t, const struct usage_info *row)
{
    struct usage_sum sum = { .attempts = row->attempts,
                             .hours = row->hours,
                             .cpu_hours = row->cpu_hours,
                             .gpu_hours = row->gpu_hours,
                             .busy_cpu_hours = row->busy_cpu_hours,
                             .pilot_cpu_hours = row->pilot_cpu_hours,
                             .pilot_gpu_hours = row->pilot_gpu_hours,
                             .max_rss_bytes = row->max_rss_bytes,
                             .gpu_memory_bytes = row->gpu_memory_bytes,
                             .seen_gpu_hours = row->seen_gpu_hours,
                             .busy_gpu_hours = row->busy_gpu_hours };
    struct buf when = { 0 };

    if (row->submitted_at != 0)
        units_add_time_local(&when, row->submitted_at);
    table_printf(t, TONE_PLAIN, "%" PRId64, row->sweep);
    table_add(t, TONE_PLAIN, row->project);
    table_add(t, TONE_PLAIN, row->name);
    table_add(t, TONE_PLAIN, row->user);
    table_add_buf(t, TONE_PLAIN, &when);
    add_hours(t, TONE_PLAIN, &sum);
}

/* Prints pages of sweeps as they come; a table keeps its columns. */
static int show_sweeps(struct usage *u, struct rpc *rpc, int64_t since_ms, struct arena *a,
                       struct err *e)
{
    struct msg_get_usage request = { .since = since_ms, .limit = PAGE_MAX };
    struct pages_walk walk = { .at = INT64_MIN };
    struct msg_usage_page page;
    int result;

    do {
        const struct usage_info *rows;

        result = rpc_call(rpc, MSG_GET_USAGE, &request, &page, e);
        if (result < 0)
            return -1;
        rows = page.rows.items;
        for (size_t i = 0; i < page.rows.n; i++) {
            usage_add(&u->sums, &rows[i], a);
            request.before = rows[i].sweep;
            if (u->waste)
                usage_waste_add(&u->wastes, &rows[i], u->by_sweep, a);
            else if (u->by_sweep && u->table == NULL)
                jsonlist_add(&u->json, &usage_info_schema, &rows[i]);
            else if (u->by_sweep)
                add_sweep(u->table, &rows[i]);
        }
        if (u->by_sweep && !u->waste)
            result = u->table == NULL ? jsonlist_flush(&u->json, e) : table_print(u->table, e);
        page.more = page.more && page.rows.n > 0;
        if (result == 0 && page.more && pages_go_on(&walk, -request.before, e) < 0)
            return -1;
    } while (result == 0 && page.more);
    usage_sort(&u->sums);
    return result;
}

/* Prints the sums of users, unless by_sweep, and the total. */
static int show_sums(struct usage *u, struct err *e)
{
    const struct usage_sums *sums = &u->sums;
    struct jsonlist *json = &u->json;
    struct table *t = u->table;

    for (size_t i = 0; i < sums->n && !u->by_sweep; i++) {
        const struct usage_sum *user = &sums->users[i];

        if (t == NULL) {
            jsonlist_add(json, &usage_sum_schema, user);
            continue;
        }
        table_add(t, TONE_PLAIN, user->user);
        table_printf(t, TONE_PLAIN, "%" PRId64, user->sweeps);
        add_hours(t, TONE_PLAIN, user);
    }
    if (t == NULL) {
        buf_add_str(&json->out, "\n],\"total\":");
        schema_add_json(&usage_sum_schema, &sums->total, &json->out);
        buf_add_str(&json->out, "}\n");
        return output_write(&json->out, e);
    }
    table_add(t, TONE_STRONG, "total");
    for (int i = 0; i < 4 && u->by_sweep; i++)
        table_add(t, TONE_STRONG, NULL);
    if (!u->by_sweep)
        table_printf(t, TONE_STRONG, "%" PRId64, sums->total.sweeps);
    add_hours(t, TONE_STRONG, &sums->total);
    return table_print(t, e);
}

/* ---- what was not used ---- */

static const struct column waste_columns[] = {
    { "SWEEP", true, false },       { "PROJECT", false, true },   { "USER", false, true },
    { "ATTEMPTS", true, false },    { "CPU-HOURS", true, false }, { "UNUSED", true, false },
    { "GIB-HOURS", true, false },   { "UNUSED", true, false },    { "PEAK", true, false },
    { "TIME-LIMITS", true, false }, { "UNUSED", true, false },
};
enum { OF_SWEEP = 2 }; /* columns of a sweep alone */

static void add_unused(struct table *t, double asked, double unused)
{
    add_number(t, TONE_PLAIN, asked);
    if (asked > 0)
        table_printf(t, TONE_PLAIN, "%.0f%%", 100 * unused / asked);
    else
        table_add(t, TONE_PLAIN, "-");
}

static int show_waste(struct usage *u, struct err *e)
{
    struct table *t = u->table;

    usage_waste_sort(&u->wastes);
    for (size_t i = 0; i < u->wastes.n; i++) {
        const struct usage_waste *w = &u->wastes.rows[i];

        if (t == NULL) {
            jsonlist_add(&u->json, &usage_waste_schema, w);
            continue;
        }
        if (u->by_sweep) {
            table_printf(t, TONE_PLAIN, "%" PRId64, w->sweep);
            table_add(t, TONE_PLAIN, w->project);
        }
        table_add(t, TONE_PLAIN, w->user);
        table_printf(t, TONE_PLAIN, "%" PRId64, w->attempts);
        add_unused(t, w->cpu_hours, w->unused_cpu_hours);
        add_unused(t, w->memory_gib_hours, w->unused_memory_gib_hours);
        add_peak(t, TONE_PLAIN, w->max_rss_bytes);
        add_unused(t, w->limit_hours, w->unused_limit_hours);
    }
    return t == NULL ? jsonlist_end(&u->json, e) : table_print(t, e);
}

/* ---- bytes on the shared drive ---- */

static const struct column disk_columns[] = {
    { "PROJECT", false, true }, { "USER", false, true },  { "RESULTS", true, false },
    { "FAILED", true, false },  { "LOGS", true, false },  { "CHECKPOINTS", true, false },
    { "PACKS", true, false },   { "OTHER", true, false }, { "TOTAL", true, false },
};

/* Zero except for the arena: empty. */
struct disk {
    struct arena *arena;
    bool by_user;
    struct disk_usage *rows; /* of projects, then of users */
    size_t n, capacity;
    struct disk_usage total;
};

static struct disk_usage *disk_row(struct disk *d, const char *project, const char *user)
{
    for (size_t i = 0; i < d->n; i++)
        if (project != NULL ? strcmp(d->rows[i].project, project) == 0
                            : strcmp(d->rows[i].user, user) == 0)
            return &d->rows[i];
    mem_grow((void **)&d->rows, &d->capacity, d->n, sizeof *d->rows);
    d->rows[d->n] =
        (struct disk_usage){ .project = project != NULL ? arena_strdup(d->arena, project) : NULL,
                             .user = user != NULL ? arena_strdup(d->arena, user) : NULL };
    return &d->rows[d->n++];
}

/* A project belongs to who submitted to it. */
static int take_owners(void *context, const struct msg_sweep_page *page, struct err *e)
{
    const struct sweep_info *sweeps = page->sweeps.items;

    (void)e;
    for (size_t i = 0; i < page->sweeps.n; i++)
        if (sweeps[i].project != NULL)
            (void)disk_row(context, sweeps[i].project, sweeps[i].user);
    return 0;
}

static int compare_disk(const void *x, const void *y)
{
    const struct disk_usage *a = x, *b = y;

    return (a->total < b->total) - (a->total > b->total);
}

/* Whose the folder of a project without sweeps is; NULL: users have other numbers here. */
static const char *owner_of(const struct share_dir *root, const struct share_stat *st)
{
    const struct passwd *account =
        share_fd(root) >= 0 && st->uid >= 0 ? getpwuid((uid_t)st->uid) : NULL;

    return account != NULL ? account->pw_name : NULL;
}

/* Reads the sizes of projects that have sweeps, and of other folders beside them. */
static int read_disk(struct disk *d, struct session *s, struct err *e)
{
    static const struct sweep_filter all = { 0 };
    struct share_dir *root = NULL;
    struct list folders = { 0 };
    const struct share_entry *items;
    int result = pages_sweeps(&s->rpc, &all, take_owners, d, e);

    if (result == 0)
        root = session_open_drive(s, e);
    if (root == NULL || share_list(root, "", SHARE_STATS, d->arena, &folders, e) < 0)
        result = -1;
    items = folders.items;
    for (size_t i = 0; i < folders.n && result == 0; i++)
        if (items[i].stat.type == SHARE_FOLDER && items[i].name[0] != '.')
            result = disk_usage_read(root, items[i].name,
                                     disk_row(d, items[i].name, owner_of(root, &items[i].stat)), e);
    share_close(root);
    return result;
}

static void sum_by_user(struct disk *d)
{
    struct disk projects = *d;

    d->rows = NULL;
    d->n = d->capacity = 0;
    for (size_t i = 0; i < projects.n; i++) {
        const char *user = projects.rows[i].user;

        disk_usage_add(disk_row(d, NULL, user != NULL ? user : "?"), &projects.rows[i]);
    }
    free(projects.rows);
}

static void add_disk_row(struct table *t, enum tone tone, const struct disk_usage *u, bool by_user)
{
    const int64_t sizes[] = { u->results, u->failed, u->logs, u->checkpoints,
                              u->packs,   u->other,  u->total };

    if (!by_user)
        table_add(t, tone, u->project != NULL ? u->project : "total");
    table_add(t, tone, u->user != NULL ? u->user : by_user ? "total" : NULL);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct buf text = { 0 };

        units_add_size(&text, sizes[i]);
        table_add_buf(t, tone, &text);
    }
}

static int show_disk(struct disk *d, bool json, struct err *e)
{
    struct jsonlist list = { 0 };
    struct table *t = NULL;
    int result;

    if (json)
        jsonlist_begin(&list, d->by_user ? "users" : "projects");
    else
        t = table_for_stdout(disk_columns + d->by_user, N_COLUMNS(disk_columns) - d->by_user);
    for (size_t i = 0; i < d->n; i++) {
        disk_usage_add(&d->total, &d->rows[i]);
        if (t == NULL)
            jsonlist_add(&list, &disk_usage_schema, &d->rows[i]);
        else
            add_disk_row(t, TONE_PLAIN, &d->rows[i], d->by_user);
    }
    if (t == NULL) {
        buf_add_str(&list.out, "\n],\"total\":");
        schema_add_json(&disk_usage_schema, &d->total, &list.out);
        buf_add_str(&list.out, "}\n");
        result = output_write(&list.out, e);
    } else {
        add_disk_row(t, TONE_STRONG, &d->total, d->by_user);
        result = table_print(t, e);
    }
    if (d->total.unread > 0)
        output_note("note: %" PRId64 " folder%s could not be looked into; an admin may",
                    d->total.unread, d->total.unread == 1 ? "" : "s");
    table_destroy(t);
    jsonlist_drop(&list);
    return result;
}

static int disk_usage(struct cli *cli, bool by_user, struct err *e)
{
    const struct options *o = cli->options;
    struct disk d = { .arena = cli->arena, .by_user = by_user };
    struct session s;
    int result;

    if (session_open(cli, &s, e) < 0)
        return -1;
    result = read_disk(&d, &s, e);
    if (by_user)
        sum_by_user(&d);
    if (d.n > 0)
        qsort(d.rows, d.n, sizeof *d.rows, compare_disk);
    if (result == 0)
        result = show_disk(&d, o->json, e);
    free(d.rows);
    session_close(&s);
    return result < 0 ? -1 : EXIT_WELL;
}

static int show_usage(struct cli *cli, struct err *e)
{
    const struct options *o = cli->options;
    const char *by = o->by != NULL ? o->by : "user";
    struct usage u = { .by_sweep = strcmp(by, "sweep") == 0, .waste = o->waste };
    struct session s;
    int64_t since_ms = 0;
    int result;

    if (!u.by_sweep && strcmp(by, "user") != 0)
        return err_set(e, ERR_USAGE, "--by takes user or sweep, not '%s'", by);
    if (o->disk && o->waste)
        return err_set(e, ERR_USAGE, "--disk goes without --waste");
    if (o->disk && (u.by_sweep || o->since != NULL))
        return err_set(e, ERR_USAGE,
                       "--disk tells what lies there now, by project or user: without "
                       "--since and --by sweep");
    if (o->disk)
        return disk_usage(cli, o->by != NULL, e);
    if ((o->since != NULL && usage_parse_since(o->since, units_now_ms(), &since_ms, e) < 0) ||
        session_open(cli, &s, e) < 0)
        return -1;
    if (o->json)
        jsonlist_begin(&u.json, u.by_sweep ? "sweeps" : "users");
    else if (u.waste)
        u.table = u.by_sweep ? table_for_stdout(waste_columns, N_COLUMNS(waste_columns))
                             : table_for_stdout(waste_columns + OF_SWEEP,
                                                N_COLUMNS(waste_columns) - OF_SWEEP);
    else
        u.table = u.by_sweep ? table_for_stdout(sweep_columns, N_COLUMNS(sweep_columns))
                             : table_for_stdout(user_columns, N_COLUMNS(user_columns));
    result = show_sweeps(&u, &s.rpc, since_ms, cli->arena, e);
    if (result == 0)
        result = u.waste ? show_waste(&u, e) : show_sums(&u, e);
    usage_waste_free(&u.wastes);
    table_destroy(u.table);
    jsonlist_drop(&u.json);
    usage_free(&u.sums);
    session_close(&s);
    return result < 0 ? -1 : EXIT_WELL;
}

const struct command cmd_usage = {
    .name = "usage",
    .args = "[OPTION]...",
    .help = "add up the CPU hours and GPU hours that sweeps have used",
    .more = "All attempts that have ended count, failed ones included.\n"
            "CPU-HOURS are processors times hours; BUSY is the part of it in which they\n"
            "worked. SLURM are the CPU-hours of the pilots that were made for these jobs,\n"
            "also of the time in which they had none. PEAK is the most memory that one job\n"
            "held. A terminal shows less than an hour as minutes and seconds.\n"
            "--waste compares what jobs that have ended asked for with what they used:\n"
            "processors times hours with the time these worked, memory times hours with the\n"
            "most that each job held, limits of time with how long the jobs ran. The order\n"
            "is that of the CPU-hours not used, and 4 GiB-hours not used count as one.\n"
            "--disk adds up what lies on the shared drive instead, as far as you may look.\n"
            "\n"
            "  ludwig usage --since 7d\n"
            "  ludwig usage --by sweep --since 2026-11-01\n"
            "  ludwig usage --waste --by sweep --since 30d\n"
            "  ludwig usage --disk --by user\n",
    .options = options,
    .options_size = sizeof(struct options),
    .run = show_usage,
};
