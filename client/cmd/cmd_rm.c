/* SPDX-License-Identifier: MIT */
/* cmd_rm.c - ludwig rm: sweeps, jobs, configurations and projects with their files */

/*
 * First ludwigd says whether all of it may be removed, and from then on reuses none of the results.
 * Then the files are removed, with the rights of the user, and last the database's rows that say
 * where the files lay.  If this breaks off, the same command completes it.  Folders are entered
 * name by name, and a link is never followed.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/query/jobinfo.h"
#include "client/query/pages.h"
#include "client/query/project_meant.h"
#include "client/query/selector.h"
#include "client/session/session.h"
#include "client/term/output.h"
#include "client/term/progress.h"
#include "common/base/mem.h"
#include "common/base/path.h"
#include "common/base/units.h"
#include "common/proto/layout.h"

struct options {
    bool yes, json, keep_results, leftovers;
    const char *older;
};

static const struct opt options[] = {
    { "keep-results", 0, OPT_FLAG, NULL, offsetof(struct options, keep_results), 0, 0,
      "leave runs/ as it is: what the jobs saved" },
    { "leftovers", 0, OPT_FLAG, NULL, offsetof(struct options, leftovers), 0, 0,
      "only what failed attempts left in failed/: results, logs and records stay" },
    { "older", 0, OPT_STR, "TIME", offsetof(struct options, older), 0, 0,
      "with --leftovers: only of jobs that ended so long ago, as 30d" },
    { "yes", 'y', OPT_FLAG, NULL, offsetof(struct options, yes), 0, 0, "do not ask" },
    { "json", 0, OPT_FLAG, NULL, offsetof(struct options, json), 0, 0, "print JSON" },
    { 0 },
};

/* A sweep to remove from, and its project as the server said it before the user was asked. */
struct chosen {
    int64_t sweep;
    const char *project;
};

/* One run of the command. */
struct rm {
    const struct options *options;
    struct session *session;
    struct arena *arena;
    struct targets found;
    const char **projects; /* projects to remove as a whole */
    size_t n_projects;
    const char **places; /* projects that were named or are shown: no other one is touched */
    size_t n_places, places_capacity;
    struct chosen *chosen;
    size_t n_chosen, chosen_capacity;
    int64_t jobs;         /* with --leftovers: attempts */
    int64_t ended_before; /* with --leftovers: ms since 1970 */
    /* While files are removed: of this sweep, in this project. */
    int64_t sweep;
    struct share_dir *root, *project, *logs;
    struct status_line line;
    int64_t n_cleared;
};

/* ---- which ---- */

/* Returns the place of that name, which is added if it is new. */
static const char *add_place(struct rm *r, const char *project)
{
    for (size_t i = 0; i < r->n_places; i++)
        if (strcmp(r->places[i], project) == 0)
            return r->places[i];
    mem_grow((void **)&r->places, &r->places_capacity, r->n_places, sizeof *r->places);
    return r->places[r->n_places++] = arena_strdup(r->arena, project);
}

static void choose(struct rm *r, int64_t sweep, const char *project)
{
    mem_grow((void **)&r->chosen, &r->chosen_capacity, r->n_chosen, sizeof *r->chosen);
    r->chosen[r->n_chosen++] = (struct chosen){ sweep, add_place(r, project) };
}

static const char *project_of(const struct rm *r, int64_t sweep)
{
    size_t i = 0;

    while (i < r->n_chosen && r->chosen[i].sweep != sweep)
        i++;
    return i < r->n_chosen ? r->chosen[i].project : NULL;
}

/* "exp" is a project, "exp/param_003" a configuration in it; both NULL: the word is neither. */
struct place_word {
    const char *project, *param; /* NULL: all of the project */
};

static struct place_word read_place(struct arena *a, const char *word)
{
    const char *slash = strchr(word, '/');
    bool is_selector = strspn(word, "0123456789.,-") == strlen(word) || strcmp(word, "all") == 0 ||
                       strcmp(word, "last") == 0 || strncmp(word, "last.", strlen("last.")) == 0;

    if (slash == NULL)
        return (struct place_word){ is_selector ? NULL : word, NULL };
    return (struct place_word){ arena_strndup(a, word, (size_t)(slash - word)),
                                slash[1] == '\0' ? NULL : slash + 1 };
}

static int take_sweeps(void *context, const struct msg_sweep_page *page, struct err *e)
{
    const struct sweep_info *sweeps = page->sweeps.items;

    (void)e;
    for (size_t i = 0; i < page->sweeps.n; i++)
        targets_add(context, &(struct target){ .sweep = sweeps[i].sweep });
    return 0;
}

struct of_param {
    const char *param;
    struct targets *to;
};

static int take_jobs_of_param(void *context, const struct job_info *jobs, size_t n, struct err *e)
{
    const struct of_param *of = context;
    struct list parsed;

    for (size_t i = 0; i < n; i++) {
        if (jobs[i].param_name == NULL || strcmp(jobs[i].param_name, of->param) != 0)
            continue;
        if (selector_parse(jobs[i].job, of->to->arena, &parsed, e) < 0)
            return -1;
        targets_add(of->to, parsed.items);
    }
    return 0;
}

static int find_in_project(struct rm *r, const struct place_word *word, struct err *e)
{
    static const struct job_filter all = { 0 };
    const struct sweep_filter filter = { .project = word->project };
    struct targets in = { .arena = r->arena };
    struct of_param of = { word->param, &r->found };
    struct rpc *rpc = &r->session->rpc;
    struct list sweeps;
    size_t n = r->found.n;

    if (pages_sweeps(rpc, &filter, take_sweeps, &in, e) < 0)
        return -1;
    if (in.n == 0)
        return err_set(e, ERR_NOT_FOUND, "there is no project '%s' with sweeps", word->project);
    for (size_t i = 0; i < in.n; i++)
        choose(r, in.items[i].sweep, word->project);
    sweeps = (struct list){ in.items, in.n };
    if (word->param == NULL) {
        r->projects[r->n_projects++] = word->project;
        for (size_t i = 0; i < in.n; i++)
            targets_add(&r->found, &in.items[i]);
        return 0;
    }
    if (pages_jobs(rpc, &sweeps, &all, take_jobs_of_param, &of, e) < 0)
        return -1;
    return r->found.n > n ? 0
                          : err_set(e, ERR_NOT_FOUND, "project '%s' has no jobs of '%s'",
                                    word->project, word->param);
}

static int find_all(struct rm *r, const struct opt_words *words, struct err *e)
{
    r->found.arena = r->arena;
    r->projects = arena_alloc(r->arena, words->n * sizeof *r->projects);
    for (size_t i = 0; i < words->n; i++) {
        struct place_word word = read_place(r->arena, words->words[i]);
        struct opt_words one = { &words->words[i], 1 };
        struct list targets = { 0 };

        if (word.project != NULL) {
            if (project_meant(&r->session->rpc, &word.project, r->arena, e) < 0 ||
                find_in_project(r, &word, e) < 0)
                return -1;
            continue;
        }
        if (selector_targets(&r->session->rpc, NULL, &one, r->arena, &targets, e) < 0 ||
            selector_check_jobs(&r->session->rpc, &targets, e) < 0)
            return -1;
        for (size_t k = 0; k < targets.n; k++) {
            const struct target *t = (const struct target *)targets.items + k;
            struct sweep_info info;

            targets_add(&r->found, t);
            if (k > 0 && t->sweep == t[-1].sweep)
                continue;
            if (pages_sweep(&r->session->rpc, t->sweep, &info, e) < 0)
                return -1;
            if (info.project == NULL || !jobinfo_is_one_name(info.project))
                return err_set(e, ERR_PROTOCOL,
                               "the server gives sweep %" PRId64 " no name of a project", t->sweep);
            choose(r, t->sweep, info.project);
        }
    }
    targets_merge(&r->found);
    return 0;
}

/* ---- what ludwigd has to know ---- */

static int tell(struct rm *r, enum remove_step step, struct err *e)
{
    int64_t jobs = 0;

    for (size_t from = 0; from < r->found.n; from += TARGETS_MAX) {
        size_t n = r->found.n - from < TARGETS_MAX ? r->found.n - from : TARGETS_MAX;
        const struct msg_remove request = { { r->found.items + from, n }, (int)step };
        struct msg_removed answer;

        if (rpc_call(&r->session->rpc, MSG_REMOVE, &request, &answer, e) < 0)
            return -1;
        jobs += answer.jobs;
    }
    r->jobs = jobs;
    return 0;
}

static bool confirm(const struct rm *r)
{
    struct buf question = { 0 };
    const struct target *t = r->found.items;
    bool yes;

    if (r->options->yes || !output_can_ask())
        return true;
    buf_add_str(&question, "remove ");
    if (r->options->leftovers) {
        buf_add_str(&question, "what failed attempts left in failed/");
    } else {
        for (size_t i = 0; i < r->n_projects; i++)
            buf_printf(&question, "project %s, ", r->projects[i]);
        buf_printf(&question, "%" PRId64 " job%s of sweep%s %" PRId64, r->jobs,
                   r->jobs == 1 ? "" : "s", t[0].sweep != t[r->found.n - 1].sweep ? "s" : "",
                   t[0].sweep);
        if (t[0].sweep != t[r->found.n - 1].sweep)
            buf_printf(&question, " to %" PRId64, t[r->found.n - 1].sweep);
    }
    for (size_t i = 0; i < r->n_places; i++)
        buf_printf(&question, "%s%s", i == 0 ? " of " : ", ", r->places[i]);
    if (!r->options->leftovers)
        buf_printf(&question, " with %slogs and checkpoints",
                   r->options->keep_results ? "" : "results, ");
    buf_add_str(&question, ", for good?");
    yes = output_ask(buf_text(&question));
    buf_free(&question);
    return yes;
}

/* ---- files ---- */

/* Opens the folder below at by these names, ended by NULL; *found is NULL if it does not exist. */
static int enter(const struct share_dir *at, const char *const *names, struct share_dir **found,
                 struct err *e)
{
    const struct share_dir *dir = at;
    struct share_dir *next = NULL, *above = NULL;
    struct err why = { 0 };

    for (; *names != NULL; names++) {
        next = share_enter(dir, *names, &why);
        share_close(above);
        if (next == NULL)
            break;
        dir = above = next;
    }
    *found = next;
    if (next == NULL && why.kind != ERR_NOT_FOUND)
        return err_set(e, why.kind, "%s", why.text);
    return 0;
}

/* Removes the file or tree of that name in the project's folder; a missing one is fine. */
static int remove_below(const struct share_dir *project, const char *const *names, const char *name,
                        struct err *e)
{
    struct share_dir *dir;
    int result;

    if (enter(project, names, &dir, e) < 0)
        return -1;
    result = dir == NULL ? 0 : share_remove_tree(dir, name, e);
    share_close(dir);
    return result;
}

/* A configuration without results needs no name for them; one that has some keeps its folder. */
static void tidy_param(const struct share_dir *project, const char *folder, const char *param)
{
    const char *const names[] = { folder, NULL };
    const char *const own[] = { folder, param, NULL };
    struct share_dir *above, *dir;
    struct arena *a = arena_create();
    struct list left = { 0 };
    const struct share_entry *first;

    if (enter(project, names, &above, NULL) == 0 && above != NULL) {
        if (enter(project, own, &dir, NULL) == 0 && dir != NULL) {
            if (share_list(dir, "", SHARE_NAMES, a, &left, NULL) == 0 && left.n == 1) {
                first = left.items;
                if (strcmp(first->name, LAYOUT_PARAM2VAL) == 0)
                    (void)share_remove_file(dir, LAYOUT_PARAM2VAL, NULL);
            }
            share_close(dir);
            (void)share_remove_dir(above, param, NULL);
        }
        share_close(above);
    }
    arena_destroy(a);
}

/* Removes the job's part of a folder by configurations; attempts: one name for each attempt. */
static int remove_of_job(struct rm *r, const char *const *names, const struct job_info *j,
                         bool attempts, struct err *e)
{
    struct share_dir *dir;
    int result = 0;

    if (enter(r->project, names, &dir, e) < 0)
        return -1;
    if (dir != NULL && !attempts)
        result = share_remove_tree(dir, j->job_name, e);
    for (int64_t k = 1; dir != NULL && attempts && k <= j->attempt && result == 0; k++) {
        char *name = mem_printf("%s.a%" PRId64, j->job_name, k);

        result = share_remove_tree(dir, name, e);
        free(name);
    }
    share_close(dir);
    return result;
}

static int remove_logs(struct rm *r, const struct job_info *j, struct err *e)
{
    int result = 0;

    for (int64_t k = 1; r->logs != NULL && k <= j->attempt && result == 0; k++) {
        struct buf path = { 0 }, live = { 0 };

        layout_log(&path, "p", r->sweep, j->param_name, j->job_name, k);
        layout_live_metrics(&live, buf_text(&path));
        result = share_remove_tree(r->logs, path_basename(buf_text(&path)), e);
        if (result == 0)
            result = share_remove_tree(r->logs, path_basename(buf_text(&live)), e);
        buf_free(&path);
        buf_free(&live);
    }
    return result;
}

static int remove_job(struct rm *r, const struct job_info *j, struct err *e)
{
    const char *const runs[] = { "runs", j->param_name, NULL };
    const char *const failed[] = { "failed", j->param_name, NULL };
    const char *const stopped[] = { "stopped", j->param_name, NULL };
    const char *const checkpoints[] = { ".ludwig", "checkpoints", j->param_name, NULL };

    if (jobinfo_check_names(j, e) < 0)
        return -1;
    if ((!r->options->keep_results && remove_of_job(r, runs, j, false, e) < 0) ||
        remove_of_job(r, failed, j, true, e) < 0 || remove_of_job(r, stopped, j, true, e) < 0 ||
        remove_of_job(r, checkpoints, j, true, e) < 0 || remove_logs(r, j, e) < 0)
        return err_wrap(e, "job %s", j->job);
    if (!r->options->keep_results)
        tidy_param(r->project, "runs", j->param_name);
    tidy_param(r->project, "failed", j->param_name);
    tidy_param(r->project, "stopped", j->param_name);
    return 0;
}

/* Removes leftovers only of a job that is over: one that is tried again may need them. */
static int remove_leftovers(struct rm *r, const struct job_info *j, struct err *e)
{
    const char *const failed[] = { "failed", j->param_name, NULL };
    struct share_dir *dir;
    int result = 0;

    if (j->ended_at == 0 || j->ended_at >= r->ended_before || jobinfo_check_names(j, NULL) < 0)
        return 0;
    if (enter(r->project, failed, &dir, e) < 0)
        return -1;
    for (int64_t k = 1; dir != NULL && k <= j->attempt && result == 0; k++) {
        char *name = mem_printf("%s.a%" PRId64, j->job_name, k);
        struct share_dir *left = share_enter(dir, name, NULL);

        r->jobs += left != NULL;
        share_close(left);
        result = share_remove_tree(dir, name, e);
        free(name);
    }
    share_close(dir);
    if (result < 0)
        return err_wrap(e, "job %s", j->job);
    tidy_param(r->project, "failed", j->param_name);
    return 0;
}

static int take_leftovers(void *context, const struct job_info *jobs, size_t n, struct err *e)
{
    for (size_t i = 0; i < n; i++)
        if (remove_leftovers(context, &jobs[i], e) < 0)
            return -1;
    return 0;
}

static int take_jobs(void *context, const struct job_info *jobs, size_t n, struct err *e)
{
    struct rm *r = context;

    for (size_t i = 0; i < n; i++) {
        if (remove_job(r, &jobs[i], e) < 0)
            return -1;
        r->n_cleared++;
        if (status_line_is_due(&r->line, units_now_ms())) {
            struct buf line = { 0 };

            buf_printf(&line, "rm: %" PRId64 " of %" PRId64 " jobs", r->n_cleared, r->jobs);
            status_line_show(&r->line, &line);
        }
    }
    return 0;
}

static int remove_files_of(struct rm *r, struct target *t, struct err *e)
{
    static const struct job_filter all = { 0 };
    char *number = mem_printf("%" PRId64, t->sweep);
    const char *const logs[] = { "logs", number, NULL };
    const char *const above_logs[] = { "logs", NULL }, *const sweeps[] = { "sweeps", NULL };
    const struct list one = { t, 1 };
    const char *const names[] = { project_of(r, t->sweep), NULL };
    int result = enter(r->root, names, &r->project, e);

    if (result == 0 && r->project != NULL) {
        r->sweep = t->sweep;
        result = enter(r->project, logs, &r->logs, e);
        if (result == 0)
            result = pages_jobs(&r->session->rpc, &one, &all,
                                r->options->leftovers ? take_leftovers : take_jobs, r, e);
        share_close(r->logs);
        r->logs = NULL;
        if (result == 0 && target_is_whole(t) && !r->options->leftovers &&
            (remove_below(r->project, above_logs, number, e) < 0 ||
             remove_below(r->project, sweeps, number, e) < 0))
            result = -1;
        share_close(r->project);
        r->project = NULL;
    }
    free(number);
    return result;
}

/* Whether all of the project's sweeps are being removed: one that was submitted since needs its files. */
static int check_no_other(struct rm *r, const char *project, struct err *e)
{
    const struct sweep_filter filter = { .project = project };
    struct targets now = { .arena = r->arena };

    if (pages_sweeps(&r->session->rpc, &filter, take_sweeps, &now, e) < 0)
        return -1;
    for (size_t i = 0; i < now.n; i++) {
        bool is_known = false;

        for (size_t k = 0; k < r->found.n && !is_known; k++)
            is_known = r->found.items[k].sweep == now.items[i].sweep;
        if (!is_known)
            return err_set(e, ERR_FAILED,
                           "sweep %" PRId64 " came into project %s meanwhile, whose folder stays",
                           now.items[i].sweep, project);
    }
    return 0;
}

/* Removes what is left of a project: ludwig's own folders; other things stay. */
static int remove_project(struct rm *r, const char *name, struct err *e)
{
    static const char *const folders[] = {
        "runs", "failed", "stopped", "logs", "sweeps", ".ludwig"
    };
    const char *const names[] = { name, NULL };
    struct share_dir *project;

    if (!jobinfo_is_one_name(name))
        return err_set(e, ERR_USAGE, "'%s' is no project", name);
    if (check_no_other(r, name, e) < 0 || enter(r->root, names, &project, e) < 0)
        return -1;
    for (size_t i = 0; project != NULL && i < sizeof folders / sizeof folders[0]; i++) {
        if (i == 0 && r->options->keep_results)
            continue;
        if (share_remove_tree(project, folders[i], e) < 0) {
            share_close(project);
            return -1;
        }
    }
    share_close(project);
    /* This may fail: perhaps only ludwigd makes and removes folders where the project lies. */
    (void)share_remove_dir(r->root, name, NULL);
    return 0;
}

static int remove_files(struct rm *r, struct err *e)
{
    int result = 0;

    r->root = session_open_drive(r->session, e);
    if (r->root == NULL)
        return -1;
    for (size_t i = 0; i < r->found.n && result == 0; i++)
        result = remove_files_of(r, &r->found.items[i], e);
    for (size_t i = 0; i < r->n_projects && result == 0 && !r->options->leftovers; i++)
        result = remove_project(r, r->projects[i], e);
    status_line_clear(&r->line);
    share_close(r->root);
    return result < 0 ? err_wrap(e, "not all is removed (the same command goes on)") : 0;
}

/* ---- the command ---- */

static int say_removed(const struct rm *r, struct err *e)
{
    const struct msg_removed removed = { r->jobs };

    if (r->options->leftovers)
        output_note("removed what %" PRId64 " failed attempt%s left", r->jobs,
                    r->jobs == 1 ? "" : "s");
    else
        output_note("%" PRId64 " job%s removed%s", r->jobs, r->jobs == 1 ? "" : "s",
                    r->options->keep_results ? "; what they saved is still in runs/" : "");
    return r->options->json ? output_write_json(proto.messages[MSG_REMOVED].schema, &removed, e)
                            : 0;
}

static int run(struct cli *cli, struct err *e)
{
    struct session s;
    struct rm r = {
        .options = cli->options, .session = &s, .arena = cli->arena, .ended_before = units_now_ms()
    };
    const bool leaves_records = r.options->leftovers;
    int64_t older_ms = 0;
    int result;

    if (r.options->older != NULL && !leaves_records)
        return err_set(e, ERR_USAGE, "--older goes with --leftovers");
    if (r.options->older != NULL && units_parse_duration(r.options->older, &older_ms, e) < 0)
        return err_wrap(e, "--older");
    r.ended_before -= older_ms;
    if (session_open(cli, &s, e) < 0)
        return -1;
    result = find_all(&r, &cli->args, e);
    if (result == 0 && r.found.n == 0)
        result = err_set(e, ERR_NOT_FOUND, "there is no such sweep: nothing to remove");
    if (result == 0 && !leaves_records)
        result = tell(&r, REMOVE_LOOK, e);
    if (result == 0 && !confirm(&r)) {
        output_note("nothing was removed");
        session_close(&s);
        free(r.places);
        free(r.chosen);
        return EXIT_FAILED;
    }
    if (result == 0 && !leaves_records)
        result = tell(&r, REMOVE_BEGIN, e);
    if (result == 0)
        result = remove_files(&r, e);
    if (result == 0 && !leaves_records)
        result = tell(&r, REMOVE_END, e);
    if (result == 0)
        result = say_removed(&r, e);
    session_close(&s);
    free(r.places);
    free(r.chosen);
    return result < 0 ? -1 : EXIT_WELL;
}

const struct command cmd_rm = {
    .name = "rm",
    .args = "SWEEP|JOB|PROJECT... [OPTION]...",
    .help = "remove sweeps, jobs, configurations or projects, with their files, for good",
    .more = "Name sweeps (7, last), jobs (7.13, 7.1-40), a configuration of a project\n"
            "(exp/param_003) or a project (exp, or exp/ where exp is a number): results,\n"
            "logs, what failed attempts left, checkpoints and ludwig's own records go. It\n"
            "takes your own rights on the shared drive; a sweep of somebody else's only an\n"
            "admin may remove. What waits or runs has to be cancelled first. Sweeps that\n"
            "reused a result lose it too. Numbers of sweeps and configurations are not given\n"
            "again, and `ludwig usage` still counts what was removed. On a terminal it asks\n"
            "first; without one it never asks.\n"
            "\n"
            "  ludwig rm 7\n"
            "  ludwig rm exp/param_003 --keep-results\n"
            "  ludwig rm exp --yes\n"
            "  ludwig rm exp --leftovers --older 30d\n",
    .min_args = 1,
    .max_args = ARGS_ANY,
    .options = options,
    .options_size = sizeof(struct options),
    .run = run,
};
