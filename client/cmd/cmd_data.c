/* SPDX-License-Identifier: MIT */
/* cmd_data.c - ludwig data: the sources and data on the shared drive */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/pack/datasets.h"
#include "client/pack/inputs.h"
#include "client/query/project_meant.h"
#include "client/term/jsonlist.h"
#include "client/term/output.h"
#include "client/term/table.h"
#include "common/base/path.h"
#include "common/base/units.h"
#include "common/proto/layout.h"

struct options {
    const char *project;
    bool json, yes;
};

static const struct opt options[] = {
    { "project", 'p', OPT_STR, "NAME", offsetof(struct options, project), 0, 0,
      "in this project; the default is the current folder's name for push, and for the others all "
      "your projects that have sweeps and that of the current folder" },
    { "yes", 'y', OPT_FLAG, NULL, offsetof(struct options, yes), 0, 0,
      "remove what gc found, instead of only listing it" },
    { "json", 0, OPT_FLAG, NULL, offsetof(struct options, json), 0, 0, "print JSON" },
    { 0 },
};

enum { SHOWN_ID = 12 };

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
    struct datasets sets;
    struct inputs cargo; /* of push */
};

/* ---- ls ---- */

/* Compares the server's rows with the packs; if the user may not read these, the rows stay. */
static int look_at_project(struct data *d, const char *project, struct err *e)
{
    struct place to = { .drive = session_drive(&d->session, e), .project = project };
    struct datasets *sets = &d->sets;
    struct err why = { 0 };
    struct datasets_stored p;
    size_t n = 0;

    if (to.drive == NULL)
        return -1;
    if (datasets_stored_open(&p, &to, &why) < 0)
        return why.kind == ERR_DENIED ? 0 : err_set(e, why.kind, "%s", why.text);
    /* A removed dataset is listed only while a sweep needs it. */
    for (size_t i = 0; i < sets->n; i++) {
        const struct dataset_info *row = &sets->rows[i];
        bool stays = strcmp(row->project, project) != 0 || row->unfinished > 0;

        for (size_t k = 0; k < p.n_sets && !stays; k++)
            stays = digest_equal(&p.sets[k].id, &row->set.id);
        if (stays)
            sets->rows[n++] = *row;
    }
    sets->n = n;
    /* Adds datasets that were sent ahead and that no sweep has named yet. */
    for (size_t i = 0; i < p.n_sets; i++) {
        const struct packed *set = &p.sets[i];
        const struct pack_totals *t = &set->manifest.totals;
        bool is_listed = false;

        for (size_t k = 0; k < sets->n && !is_listed; k++)
            is_listed = strcmp(sets->rows[k].project, project) == 0 &&
                        digest_equal(&sets->rows[k].set.tree, &set->manifest.tree);
        if (set->is_read && !is_listed)
            *datasets_add(sets) = (struct dataset_info){
                .project = project,
                .set = { set->manifest.tree, set->id, t->files + t->links, t->bytes },
                .added_at = set->mtime_s * 1000,
            };
    }
    datasets_stored_close(&p);
    return 0;
}

static void add_time(struct table *t, int64_t at_ms)
{
    struct buf text = { 0 };

    if (at_ms > 0)
        units_add_time_local(&text, at_ms);
    table_add_buf(t, TONE_PLAIN, &text);
}

static void add_row(struct table *t, const struct dataset_info *row)
{
    char hex[DIGEST_HEX];
    struct buf text = { 0 };

    digest_hex(&row->set.id, hex);
    table_add(t, TONE_STRONG,
              row->name != NULL ? row->name
              : row->sweep != 0 ? "(source)"
                                : "(sent ahead)");
    table_add(t, TONE_PLAIN, row->project);
    table_printf(t, TONE_PLAIN, "%" PRId64, row->set.files);
    units_add_size(&text, row->set.bytes);
    table_add_buf(t, TONE_PLAIN, &text);
    add_time(t, row->added_at);
    add_time(t, row->used_at);
    if (row->sweep != 0)
        table_printf(t, row->unfinished > 0 ? TONE_BUSY : TONE_PLAIN, "%" PRId64, row->sweep);
    else
        table_add(t, TONE_PLAIN, "-");
    for (size_t i = 0; i < row->nodes.n; i++)
        buf_printf(&text, "%s%s", i > 0 ? " " : "", ((const char *const *)row->nodes.items)[i]);
    table_add_buf(t, TONE_PLAIN, &text);
    table_printf(t, TONE_DIM, "%.*s", SHOWN_ID, hex);
}

static int run_ls(struct data *d, struct err *e)
{
    const struct datasets_project *projects;
    struct table *t;
    size_t n;
    int result;

    if (datasets_fetch(&d->sets, e) < 0)
        return -1;
    projects = datasets_projects(&d->sets, false, &n);
    for (size_t i = 0; i < n; i++)
        if (look_at_project(d, projects[i].name, e) < 0)
            return -1;
    if (d->options->json)
        return jsonlist_write("data", &dataset_info_schema,
                              &(struct list){ d->sets.rows, d->sets.n }, e);
    t = table_for_stdout(columns, N_COLUMNS);
    for (size_t i = 0; i < d->sets.n; i++)
        add_row(t, &d->sets.rows[i]);
    result = table_print(t, e);
    table_destroy(t);
    return result;
}

/* ---- push ---- */

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

static int run_push(struct data *d, struct err *e)
{
    size_t n = d->cli->args.n - 1;
    struct place to = { .project = d->options->project };
    struct msg_open_project request;
    struct msg_project_open answer;
    const char **paths;

    if (to.project == NULL)
        to.project = datasets_here(&d->sets, e);
    else if (!layout_is_project_name(to.project))
        return err_set(e, ERR_USAGE, "'%s' cannot be a project's name", to.project);
    paths = to.project != NULL ? real_paths(d, n, e) : NULL;
    if (paths == NULL)
        return -1;
    to.drive = session_drive(&d->session, e);
    request = (struct msg_open_project){ .project = to.project };
    if (to.drive == NULL || rpc_call(&d->session.rpc, MSG_OPEN_PROJECT, &request, &answer, e) < 0)
        return -1;
    if (answer.project != NULL)
        to.project = arena_strdup(d->cli->arena, answer.project);
    if (answer.folder.mode != 0 && store_make_project(&to, &answer.folder, e) < 0)
        return -1;
    inputs_plan_paths(&d->cargo, paths, n, &to);
    if (inputs_send(&d->cargo, e) < 0)
        return -1;
    for (size_t i = 0; i < d->cargo.n_data; i++) {
        const struct tree *t = &d->cargo.data[i];
        struct buf size = { 0 }, new_size = { 0 };

        units_add_size(&size, t->set.bytes);
        units_add_size(&new_size, t->new_bytes);
        output_note("%s: %" PRId64 " file%s, %s, in project %s; %s were new",
                    path_basename(t->plan.top), t->set.files, t->set.files == 1 ? "" : "s",
                    buf_text(&size), to.project, t->new_bytes > 0 ? buf_text(&new_size) : "none");
        buf_free(&size);
        buf_free(&new_size);
    }
    return 0;
}

static int run_gc(struct data *d, struct err *e)
{
    bool is_json = d->options->json;
    struct list gone;

    if (datasets_collect(&d->sets, d->options->yes, is_json ? &gone : NULL, e) < 0)
        return -1;
    return is_json ? jsonlist_write("gone", &datasets_gone_schema, &gone, e) : 0;
}

/* ---- the command ---- */

enum { LS, PUSH, RM, GC, N_DEEDS };

static int run_data(struct cli *cli, struct err *e)
{
    static const char *const deeds[N_DEEDS] = { "ls", "push", "rm", "gc" };
    struct data d = { .cli = cli, .options = cli->options };
    const char *const *words = (const char *const *)cli->args.words;
    size_t n = cli->args.n - 1;
    int deed = 0, result;

    d.sets = (struct datasets){ .session = &d.session, .project = d.options->project };
    while (deed < N_DEEDS && strcmp(deeds[deed], words[0]) != 0)
        deed++;
    if (deed == N_DEEDS)
        return err_set(e, ERR_USAGE, "ludwig data takes ls, push, rm or gc, not '%s'", words[0]);
    if ((deed == PUSH || deed == RM) != (n > 0))
        return err_set(e, ERR_USAGE, "ludwig data %s takes %s", words[0],
                       n > 0          ? "no arguments"
                       : deed == PUSH ? "files and folders"
                                      : "names or ids, as ludwig data ls lists them");
    if (deed == PUSH) {
        const char **paths = real_paths(&d, n, NULL);
        struct session_wants wants = { .sends_files = true };

        if (paths != NULL)
            wants.files_bytes = inputs_glance_paths(paths, n);
        result = session_start(cli, &d.session, &wants, e);
    } else {
        result = session_open(cli, &d.session, e);
    }
    if (result == 0 && deed != PUSH && d.sets.project != NULL)
        result = project_meant(&d.session.rpc, &d.sets.project, cli->arena, e);
    if (result == 0)
        result = deed == LS     ? run_ls(&d, e)
                 : deed == PUSH ? run_push(&d, e)
                 : deed == RM   ? datasets_remove(&d.sets, words + 1, n, e)
                                : run_gc(&d, e);
    inputs_free(&d.cargo);
    datasets_free(&d.sets);
    session_close(&d.session);
    return result < 0 ? -1 : EXIT_WELL;
}

const struct command cmd_data = {
    .name = "data",
    .args = "ls|push|rm|gc [PATH|NAME]... [OPTION]...",
    .help = "list, send in advance and remove the data on the shared drive",
    .more = "ls lists what sweeps have used, and what was sent in advance.\n"
            "push PATH... sends files and folders before a sweep names them in data:.\n"
            "rm NAME|ID... removes datasets that no sweep needs any more.\n"
            "gc lists what no sweep of the last 30 days needs, and with --yes removes it.\n"
            "\n"
            "  ludwig data push corpora/ --project word2vec\n"
            "  ludwig data gc --yes\n",
    .min_args = 1,
    .max_args = ARGS_ANY,
    .options = options,
    .options_size = sizeof(struct options),
    .run = run_data,
};
