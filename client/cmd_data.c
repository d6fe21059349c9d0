/* SPDX-License-Identifier: MIT */
/* cmd_data.c - ludwig data: what sources and data lie on the shared drive */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/cargo.h"
#include "client/jsonlist.h"
#include "client/out.h"
#include "client/packstore.h"
#include "client/session.h"
#include "client/table.h"
#include "common/path.h"
#include "common/units.h"

struct options {
    const char *project;
    bool json, yes;
};

static const struct opt options[] = {
    { "project", 'p', OPT_STR, "NAME", offsetof(struct options, project), 0, 0,
      "of this project; push takes the current folder's name without it, the others take all "
      "projects of yours" },
    { "yes", 'y', OPT_FLAG, NULL, offsetof(struct options, yes), 0, 0,
      "remove what gc found; without it gc only lists that" },
    { "json", 0, OPT_FLAG, NULL, offsetof(struct options, json), 0, 0, "print JSON" },
    { 0 },
};

enum { KEPT_DAYS = 30, SHOWN_ID = 12, LEAST_ID = 6 };

static const int64_t DAY_S = 24 * 3600;

enum { NAME, PROJECT, FILES, SIZE, ADDED, USED, SWEEP, NODES, ID, N_COLUMNS };

static const struct column columns[N_COLUMNS] = {
    { "NAME", false, true },  { "PROJECT", false, true }, { "FILES", true, false },
    { "SIZE", true, false },  { "ADDED", false, false },  { "USED", false, false },
    { "SWEEP", true, false }, { "NODES", false, true },   { "ID", false, false },
};

/* One run of the command. */
struct data {
    struct cli *cli;
    const struct options *options;
    struct session session;
    struct dataset_info *rows; /* what the server says */
    size_t n, capacity;
};

/* ---- what the server knows ---- */

static struct dataset_info copy_row(const struct dataset_info *from, struct arena *a)
{
    struct dataset_info row = *from;
    const char **nodes = arena_alloc(a, from->nodes.n * sizeof *nodes);

    row.project = arena_strdup(a, from->project);
    row.owner = from->owner != NULL ? arena_strdup(a, from->owner) : NULL;
    row.name = from->name != NULL ? arena_strdup(a, from->name) : NULL;
    for (size_t i = 0; i < from->nodes.n; i++)
        nodes[i] = arena_strdup(a, ((const char *const *)from->nodes.items)[i]);
    row.nodes.items = nodes;
    return row;
}

/* A project that data were sent to, and no sweep yet, is none to the server. */
static int fetch_rows(struct data *d, struct err *e)
{
    struct msg_get_data request = { .project = d->options->project, .limit = PAGE_MAX };
    struct msg_data_page page;
    struct err why = { 0 };

    do {
        if (rpc_call(&d->session.rpc, MSG_GET_DATA, &request, &page, &why) < 0)
            return why.kind == ERR_NOT_FOUND ? 0 : err_set(e, why.kind, "%s", why.text);
        for (size_t i = 0; i < page.data.n; i++) {
            mem_grow((void **)&d->rows, &d->capacity, d->n, sizeof *d->rows);
            d->rows[d->n++] =
                copy_row((const struct dataset_info *)page.data.items + i, d->cli->arena);
        }
        request.after = page.next;
    } while (page.next != 0);
    return 0;
}

/* Each once, in the order in which they come first. */
static size_t list_projects(const struct data *d, const char **projects)
{
    size_t n = 0;

    if (d->options->project != NULL) {
        projects[0] = d->options->project;
        return 1;
    }
    for (size_t i = 0; i < d->n; i++) {
        size_t k = 0;

        while (k < n && strcmp(projects[k], d->rows[i].project) != 0)
            k++;
        if (k == n)
            projects[n++] = d->rows[i].project;
    }
    return n;
}

/* ---- ls ---- */

/* Sent ahead, and no sweep has named it yet. */
static bool is_named(const struct data *d, const struct digest *tree)
{
    for (size_t i = 0; i < d->n; i++)
        if (digest_equal(&d->rows[i].set.tree, tree))
            return true;
    return false;
}

static int add_unnamed(struct data *d, const char *project, struct err *e)
{
    struct place to = { session_drive(&d->session, e), project };
    struct packstore p;

    if (to.drive == NULL || packstore_open(&p, &to, e) < 0)
        return -1;
    for (size_t i = 0; i < p.n_sets; i++) {
        const struct packed *set = &p.sets[i];
        const struct pack_totals *t = &set->manifest.totals;

        if (!set->is_read || is_named(d, &set->manifest.tree))
            continue;
        mem_grow((void **)&d->rows, &d->capacity, d->n, sizeof *d->rows);
        d->rows[d->n++] = (struct dataset_info){
            .project = project,
            .set = { set->manifest.tree, set->id, t->files + t->links, t->bytes },
            .added_at = set->mtime_s * 1000,
        };
    }
    packstore_close(&p);
    return 0;
}

static void add_time(struct table *t, int64_t at_ms)
{
    struct buf text = { 0 };

    if (at_ms > 0)
        units_add_time_local(&text, at_ms);
    table_add(t, TONE_PLAIN, buf_text(&text));
    buf_free(&text);
}

static void add_nodes(struct table *t, const struct list *nodes)
{
    struct buf text = { 0 };

    for (size_t i = 0; i < nodes->n; i++)
        buf_printf(&text, "%s%s", i > 0 ? " " : "", ((const char *const *)nodes->items)[i]);
    table_add(t, TONE_PLAIN, buf_text(&text));
    buf_free(&text);
}

static void add_row(struct table *t, const struct dataset_info *row)
{
    char hex[DIGEST_HEX];
    struct buf size = { 0 };

    digest_hex(&row->set.id, hex);
    units_add_size(&size, row->set.bytes);
    table_add(t, TONE_STRONG,
              row->name != NULL ? row->name
              : row->sweep != 0 ? "(source)"
                                : "(sent ahead)");
    table_add(t, TONE_PLAIN, row->project);
    table_printf(t, TONE_PLAIN, "%" PRId64, row->set.files);
    table_add(t, TONE_PLAIN, buf_text(&size));
    add_time(t, row->added_at);
    add_time(t, row->used_at);
    if (row->sweep != 0)
        table_printf(t, row->unfinished > 0 ? TONE_BUSY : TONE_PLAIN, "%" PRId64, row->sweep);
    else
        table_add(t, TONE_PLAIN, "-");
    add_nodes(t, &row->nodes);
    table_printf(t, TONE_DIM, "%.*s", SHOWN_ID, hex);
    buf_free(&size);
}

static int show_rows(const struct data *d, struct err *e)
{
    struct table *t = table_for_stdout(columns, N_COLUMNS);
    struct jsonlist list = { 0 };
    struct buf out = { 0 };
    int result;

    if (d->options->json)
        jsonlist_begin(&list, "data");
    for (size_t i = 0; i < d->n; i++) {
        if (d->options->json)
            jsonlist_add(&list, &dataset_info_schema, &d->rows[i]);
        else
            add_row(t, &d->rows[i]);
    }
    if (!d->options->json)
        table_flush(t, &out);
    result = d->options->json ? jsonlist_end(&list, e) : out_write(&out, e);
    jsonlist_drop(&list);
    table_destroy(t);
    return result;
}

static int run_ls(struct data *d, struct err *e)
{
    const char **projects;
    size_t n;

    if (fetch_rows(d, e) < 0)
        return -1;
    projects = arena_alloc(d->cli->arena, (d->n + 1) * sizeof *projects);
    n = list_projects(d, projects);
    for (size_t i = 0; i < n; i++)
        if (add_unnamed(d, projects[i], e) < 0)
            return -1;
    return show_rows(d, e);
}

/* ---- push ---- */

static const char *name_project(struct data *d, struct err *e)
{
    const char *project = d->options->project;
    char *here;

    if (project == NULL) {
        here = path_real(".", e);
        if (here == NULL)
            return NULL;
        project = arena_strdup(d->cli->arena, path_basename(here));
        free(here);
    }
    if (path_is_portable_name(project) && project[0] != '.')
        return project;
    err_set(e, ERR_USAGE, "'%s' cannot be a project's name; --project names another", project);
    return NULL;
}

static const char **real_paths(struct data *d, size_t n, struct err *e)
{
    const char **paths = arena_alloc(d->cli->arena, n * sizeof *paths);

    for (size_t i = 0; i < n; i++) {
        char *path = path_real(d->cli->args.words[i + 1], e);

        if (path == NULL)
            return NULL;
        paths[i] = arena_strdup(d->cli->arena, path);
        free(path);
    }
    return paths;
}

static int open_project(struct data *d, const struct place *to, struct err *e)
{
    struct msg_open_project request = { to->project, false };
    struct msg_project_open answer;

    if (rpc_call(&d->session.rpc, MSG_OPEN_PROJECT, &request, &answer, e) < 0)
        return -1;
    return answer.folder.mode == 0 ? 0 : upload_make_project(to, &answer.folder, e);
}

static void say_pushed(const struct cargo *c, const struct place *to)
{
    for (size_t i = 0; i < c->n_data; i++) {
        const struct tree *t = &c->data[i];
        struct buf size = { 0 }, new_size = { 0 };

        units_add_size(&size, t->set.bytes);
        units_add_size(&new_size, t->new_bytes);
        out_note("%s: %" PRId64 " file%s, %s, in project %s; %s were new",
                 path_basename(t->plan.top), t->set.files, t->set.files == 1 ? "" : "s",
                 buf_text(&size), to->project, t->new_bytes > 0 ? buf_text(&new_size) : "none");
        buf_free(&size);
        buf_free(&new_size);
    }
}

static int run_push(struct data *d, struct err *e)
{
    size_t n = d->cli->args.n - 1;
    struct place to = { .project = name_project(d, e) };
    const char **paths = to.project != NULL ? real_paths(d, n, e) : NULL;
    struct cargo c;
    int result;

    if (paths == NULL)
        return -1;
    to.drive = session_drive(&d->session, e);
    if (to.drive == NULL || open_project(d, &to, e) < 0)
        return -1;
    result = cargo_load_paths(&c, paths, n, &to, e);
    if (result == 0)
        result = cargo_send(&c, e);
    if (result == 0)
        say_pushed(&c, &to);
    cargo_free(&c);
    return result;
}

/* ---- rm and gc ---- */

static const struct dataset_info *row_of(const struct data *d, const char *project,
                                         const struct packed *set)
{
    for (size_t i = 0; i < d->n; i++)
        if (strcmp(d->rows[i].project, project) == 0 &&
            (digest_equal(&d->rows[i].set.id, &set->id) ||
             (set->is_read && digest_equal(&d->rows[i].set.tree, &set->manifest.tree))))
            return &d->rows[i];
    return NULL;
}

static bool is_meant(const char *word, const struct packed *set, const struct dataset_info *row)
{
    char hex[DIGEST_HEX];

    digest_hex(&set->id, hex);
    return (row != NULL && row->name != NULL && strcmp(row->name, word) == 0) ||
           (strlen(word) >= LEAST_ID && strncmp(hex, word, strlen(word)) == 0);
}

/* What the words name goes; *found: a bit for each that named something. */
static int choose_named(struct data *d, const char *project, struct packstore *p, bool *found,
                        struct err *e)
{
    for (size_t i = 0; i < p->n_sets; i++) {
        const struct dataset_info *row = row_of(d, project, &p->sets[i]);

        p->sets[i].stays = true;
        for (size_t k = 1; k < d->cli->args.n; k++) {
            if (!is_meant(d->cli->args.words[k], &p->sets[i], row))
                continue;
            found[k] = true;
            p->sets[i].stays = false;
            if (row != NULL && row->unfinished > 0)
                return err_set(e, ERR_BUSY,
                               "%s is needed by %" PRId64 " sweep%s not over, as %" PRId64,
                               d->cli->args.words[k], row->unfinished,
                               row->unfinished == 1 ? " that is" : "s that are", row->sweep);
        }
    }
    return 0;
}

static void choose_old(struct data *d, const char *project, struct packstore *p, int64_t now_s)
{
    for (size_t i = 0; i < p->n_sets; i++) {
        struct packed *set = &p->sets[i];
        const struct dataset_info *row = row_of(d, project, set);
        int64_t used_s = row != NULL ? row->used_at / 1000 : 0;

        if (used_s < set->mtime_s)
            used_s = set->mtime_s;
        set->stays = (row != NULL && row->unfinished > 0) || used_s > now_s - KEPT_DAYS * DAY_S;
    }
}

static void say_waste(const struct packstore *p, const char *project, bool removed)
{
    struct buf size = { 0 };
    size_t n_sets = 0;

    for (size_t i = 0; i < p->n_sets; i++)
        n_sets += !p->sets[i].stays;
    units_add_size(&size, p->waste_bytes);
    if (p->n_waste == 0)
        out_note("%s: nothing can go", project);
    else
        out_note("%s: %zu dataset%s, %zu file%s, %s %s", project, n_sets, n_sets == 1 ? "" : "s",
                 p->n_waste, p->n_waste == 1 ? "" : "s", buf_text(&size),
                 removed ? "removed" : "can go: --yes removes them");
    buf_free(&size);
}

static int tidy(struct data *d, const char *project, bool *found, struct err *e)
{
    struct place to = { session_drive(&d->session, e), project };
    int64_t now_s = units_now_ms() / 1000;
    bool removes = found != NULL || d->options->yes;
    struct packstore p;
    int result = 0;

    if (to.drive == NULL || packstore_open(&p, &to, e) < 0)
        return -1;
    if (found != NULL)
        result = choose_named(d, project, &p, found, e);
    else
        choose_old(d, project, &p, now_s);
    packstore_find_waste(&p, now_s);
    if (result == 0 && removes)
        result = packstore_remove_waste(&p, now_s, e);
    if (result == 0 && (found == NULL || p.n_waste > 0))
        say_waste(&p, project, removes);
    packstore_close(&p);
    return result;
}

static int tidy_all(struct data *d, bool *found, struct err *e)
{
    const char **projects;
    size_t n;

    if (fetch_rows(d, e) < 0)
        return -1;
    projects = arena_alloc(d->cli->arena, (d->n + 1) * sizeof *projects);
    n = list_projects(d, projects);
    for (size_t i = 0; i < n; i++)
        if (tidy(d, projects[i], found, e) < 0)
            return -1;
    return 0;
}

static int run_rm(struct data *d, struct err *e)
{
    bool *found = arena_alloc(d->cli->arena, d->cli->args.n * sizeof *found);

    if (tidy_all(d, found, e) < 0)
        return -1;
    for (size_t i = 1; i < d->cli->args.n; i++)
        if (!found[i])
            return err_set(e, ERR_NOT_FOUND, "there is no dataset '%s' (ludwig data ls lists them)",
                           d->cli->args.words[i]);
    return 0;
}

static int run_gc(struct data *d, struct err *e)
{
    return tidy_all(d, NULL, e);
}

/* ---- the command ---- */

static const struct {
    const char *name;
    bool takes_words;
    int (*run)(struct data *d, struct err *e);
} deeds[] = {
    { "ls", false, run_ls },
    { "push", true, run_push },
    { "rm", true, run_rm },
    { "gc", false, run_gc },
};

enum { N_DEEDS = sizeof deeds / sizeof deeds[0] };

static int run(struct cli *cli, struct err *e)
{
    struct data d = { .cli = cli, .options = cli->options };
    size_t i = 0;
    int result = -1;

    while (i < N_DEEDS && strcmp(deeds[i].name, cli->args.words[0]) != 0)
        i++;
    if (i == N_DEEDS)
        return err_set(e, ERR_USAGE, "ludwig data takes ls, push, rm or gc, not '%s'",
                       cli->args.words[0]);
    if (deeds[i].takes_words != (cli->args.n > 1))
        return err_set(e, ERR_USAGE, "ludwig data %s takes %s", deeds[i].name,
                       !deeds[i].takes_words ? "no arguments"
                       : i == 1              ? "files and folders"
                                             : "names or ids, as ludwig data ls lists them");
    result = i == 1 ? session_start(cli, &d.session, false, e) : session_open(cli, &d.session, e);
    if (result == 0)
        result = deeds[i].run(&d, e);
    free(d.rows);
    session_close(&d.session);
    return result < 0 ? -1 : EXIT_WELL;
}

const struct command cmd_data = {
    .name = "data",
    .args = "ls|push|rm|gc [PATH|NAME]... [OPTION]...",
    .help = "list, send ahead and remove the data on the shared drive",
    .more = "ls lists what sweeps have taken along, and what was sent ahead.\n"
            "push PATH... sends files and folders ahead of a sweep that names them in data:.\n"
            "rm NAME|ID... removes datasets that no sweep needs any more.\n"
            "gc lists what no sweep of the last 30 days needs, and with --yes removes it.\n"
            "\n"
            "  ludwig data push corpora/ --project word2vec\n"
            "  ludwig data gc --yes\n",
    .min_args = 1,
    .max_args = ARGS_ANY,
    .options = options,
    .options_size = sizeof(struct options),
    .run = run,
};
