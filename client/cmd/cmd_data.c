/* SPDX-License-Identifier: MIT */
/* cmd_data.c - ludwig data: what sources and data lie on the shared drive */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/pack/datasets_prune.h"
#include "client/pack/inputs.h"
#include "client/term/jsonlist.h"
#include "client/term/output.h"
#include "client/term/table.h"
#include "common/base/path.h"
#include "common/base/units.h"

struct options {
    const char *project;
    bool json, yes;
};

static const struct opt options[] = {
    { "project", 'p', OPT_STR, "NAME", offsetof(struct options, project), 0, 0,
      "of this project; push takes the current folder's name without it, the others take all "
      "projects of yours that have sweeps, and that of the current folder" },
    { "yes", 'y', OPT_FLAG, NULL, offsetof(struct options, yes), 0, 0,
      "remove what gc found; without it gc only lists that" },
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

static bool is_there(const struct datasets_stored *p, const struct digest *id)
{
    for (size_t i = 0; i < p->n_sets; i++)
        if (digest_equal(&p->sets[i].id, id))
            return true;
    return false;
}

/* What was removed is listed only while a sweep needs it all the same. */
static void drop_removed(struct datasets *d, const char *project, const struct datasets_stored *p)
{
    size_t n = 0;

    for (size_t i = 0; i < d->n; i++)
        if (strcmp(d->rows[i].project, project) != 0 || d->rows[i].unfinished > 0 ||
            is_there(p, &d->rows[i].set.id))
            d->rows[n++] = d->rows[i];
    d->n = n;
}

static bool is_listed(const struct datasets *d, const char *project, const struct digest *tree)
{
    for (size_t i = 0; i < d->n; i++)
        if (strcmp(d->rows[i].project, project) == 0 && digest_equal(&d->rows[i].set.tree, tree))
            return true;
    return false;
}

/* Sent ahead, and no sweep has named it yet. */
static void add_unnamed(struct datasets *d, const char *project, const struct datasets_stored *p)
{
    for (size_t i = 0; i < p->n_sets; i++) {
        const struct packed *set = &p->sets[i];
        const struct pack_totals *t = &set->manifest.totals;

        if (!set->is_read || is_listed(d, project, &set->manifest.tree))
            continue;
        *datasets_add(d) = (struct dataset_info){
            .project = project,
            .set = { set->manifest.tree, set->id, t->files + t->links, t->bytes },
            .added_at = set->mtime_s * 1000,
        };
    }
}

/* Where we may not look, what the server knows has to do. */
static int look_at_project(struct data *d, const char *project, struct err *e)
{
    struct place to = { .drive = session_drive(&d->session, e), .project = project };
    struct err why = { 0 };
    struct datasets_stored p;

    if (to.drive == NULL)
        return -1;
    if (datasets_stored_open(&p, &to, &why) < 0)
        return why.kind == ERR_DENIED ? 0 : err_set(e, why.kind, "%s", why.text);
    drop_removed(&d->sets, project, &p);
    add_unnamed(&d->sets, project, &p);
    datasets_stored_close(&p);
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
    for (size_t i = 0; i < d->sets.n; i++) {
        if (d->options->json)
            jsonlist_add(&list, &dataset_info_schema, &d->sets.rows[i]);
        else
            add_row(t, &d->sets.rows[i]);
    }
    if (!d->options->json)
        table_flush(t, &out);
    result = d->options->json ? jsonlist_end(&list, e) : output_write(&out, e);
    jsonlist_drop(&list);
    table_destroy(t);
    return result;
}

static int run_ls(struct data *d, struct err *e)
{
    const struct datasets_project *projects;
    size_t n;

    if (datasets_fetch(&d->sets, e) < 0)
        return -1;
    projects = datasets_projects(&d->sets, false, &n);
    for (size_t i = 0; i < n; i++)
        if (look_at_project(d, projects[i].name, e) < 0)
            return -1;
    return show_rows(d, e);
}

/* ---- push ---- */

static const char *name_project(const struct data *d, struct err *e)
{
    const char *project = d->options->project;

    if (project == NULL)
        return datasets_here(&d->sets, e);
    if (path_is_portable_name(project) && project[0] != '.')
        return project;
    err_set(e, ERR_USAGE, "'%s' cannot be a project's name", project);
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
    struct msg_open_project request = { .project = to->project };
    struct msg_project_open answer;

    if (rpc_call(&d->session.rpc, MSG_OPEN_PROJECT, &request, &answer, e) < 0)
        return -1;
    return answer.folder.mode == 0 ? 0 : upload_make_project(to, &answer.folder, e);
}

static void say_pushed(const struct inputs *c, const struct place *to)
{
    for (size_t i = 0; i < c->n_data; i++) {
        const struct tree *t = &c->data[i];
        struct buf size = { 0 }, new_size = { 0 };

        units_add_size(&size, t->set.bytes);
        units_add_size(&new_size, t->new_bytes);
        output_note("%s: %" PRId64 " file%s, %s, in project %s; %s were new",
                    path_basename(t->plan.top), t->set.files, t->set.files == 1 ? "" : "s",
                    buf_text(&size), to->project, t->new_bytes > 0 ? buf_text(&new_size) : "none");
        buf_free(&size);
        buf_free(&new_size);
    }
}

static int run_push(struct data *d, struct err *e)
{
    struct place to = { .project = name_project(d, e) };
    const char **paths = to.project != NULL ? real_paths(d, d->cli->args.n - 1, e) : NULL;

    if (paths == NULL)
        return -1;
    to.drive = session_drive(&d->session, e);
    if (to.drive == NULL || open_project(d, &to, e) < 0)
        return -1;
    inputs_plan_paths(&d->cargo, paths, d->cli->args.n - 1, &to);
    if (inputs_send(&d->cargo, e) < 0)
        return -1;
    say_pushed(&d->cargo, &to);
    return 0;
}

/* ---- rm and gc ---- */

static int run_rm(struct data *d, struct err *e)
{
    const char *const *words = (const char *const *)d->cli->args.words;

    return datasets_prune_remove(&d->sets, words + 1, d->cli->args.n - 1, e);
}

static int run_gc(struct data *d, struct err *e)
{
    return datasets_prune_collect(&d->sets, d->options->yes, e);
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

static int start_pushing(struct data *d, struct err *e)
{
    size_t n = d->cli->args.n - 1;
    const char **paths = real_paths(d, n, NULL);
    struct session_wants wants = { .sends_files = true };

    if (paths != NULL)
        wants.files_bytes = inputs_glance_paths(paths, n);
    return session_start(d->cli, &d->session, &wants, e);
}

static int run(struct cli *cli, struct err *e)
{
    struct data d = { .cli = cli, .options = cli->options };
    size_t i = 0;
    int result = -1;

    d.sets = (struct datasets){ .session = &d.session, .project = d.options->project };
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
    result = i == 1 ? start_pushing(&d, e) : session_open(cli, &d.session, e);
    if (result == 0)
        result = deeds[i].run(&d, e);
    inputs_free(&d.cargo);
    datasets_free(&d.sets);
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
