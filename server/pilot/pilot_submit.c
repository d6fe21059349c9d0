/* SPDX-License-Identifier: MIT */
/* pilot_submit.c - submits pilots: runs sbatch in a child with the owner's rights */
/* A thread looks up the owner's account here and makes the folder of the log, which the owner has
 * to be able to use; then sbatch runs, and its answer is written to the database. */

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/account.h"
#include "common/base/log.h"
#include "common/base/units.h"
#include "server/base/turn.h"
#include "server/inbox/inbox.h"
#include "server/pilot/pilots_internal.h"
#include "server/queue/fit.h"
#include "server/share/server_dirs.h"

/* How long logs of pilots are kept. */
#define LOG_DAYS   "14"
#define NO_FOLDER  "no folder for the pilots' logs: %s"
#define USUAL_PATH "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"

struct submission {
    struct pilots *p; /* only the loop's thread uses it */
    struct arena *arena;
    struct pilot_row row; /* the first row of its array */
    struct slurm_call *call;
    struct thread_task *aside;
    struct account account;
    struct err why; /* why it failed */
    char *path;     /* PATH of sbatch, if the owner is another user; else NULL */
    char *folder;   /* folder of the log */
    /* The result. */
    enum slurm_failure failure;
    const char *words;
    int64_t slurm_id;
    bool was_run;      /* sbatch was run */
    bool may_be_there; /* sbatch failed, but slurmctld may have taken the pilots */
};

static struct submission *submission_of(const struct pilots *p, int64_t uid)
{
    for (size_t i = 0; i < SUBMISSIONS_MAX; i++)
        if (p->submissions[i] != NULL && p->submissions[i]->row.uid == uid)
            return p->submissions[i];
    return NULL;
}

bool submission_may_begin(const struct pilots *p, uid_t uid)
{
    bool has_room = false;

    for (size_t i = 0; i < SUBMISSIONS_MAX; i++)
        has_room |= p->submissions[i] == NULL;
    return has_room && submission_of(p, uid) == NULL;
}

bool submission_has(const struct pilots *p, const struct pilot_row *row)
{
    const struct submission *s = submission_of(p, row->uid);

    return s != NULL && token_equal(&s->row.token, &row->token);
}

static void submission_free(void *context)
{
    struct submission *s = context;

    for (size_t i = 0; i < SUBMISSIONS_MAX; i++)
        if (s->p->submissions[i] == s)
            s->p->submissions[i] = NULL;
    if (s->call != NULL)
        slurm_call_drop(s->call);
    if (s->aside != NULL)
        thread_task_drop(s->aside);
    account_free(&s->account);
    arena_destroy(s->arena);
    free(s->path);
    free(s->folder);
    free(s);
}

/* ---- results, in a turn ---- */

static int take_outcome(struct pilots *p, const struct submission *s, struct err *e)
{
    const struct pilot_row *row = &s->row;

    if (s->failure == SLURM_WELL)
        return db_run(p->sv->db, e, SQL_PILOTS_SUBMITTED, "ti", &row->token, s->slurm_id);
    log_event(LOG_WARN, "pilot-refused", "user", "%s", row->user, "partition", "%s",
              row->spec.partition, "why", "%s", s->words, NULL);
    if (s->may_be_there)
        return 0; /* the next look finds the pilots by name */
    if (db_run(p->sv->db, e, SQL_PILOTS_DROP, "t", &row->token) < 0)
        return -1;
    return s->failure == SLURM_REFUSED ? pool_refuse(p->sv, row, s->words, e) : 0;
}

/* Runs after the turn, even if it failed: pilots that were not written down are found by name. */
static void settle(struct server *sv, int64_t uid)
{
    struct pilots *p = sv->pilots;
    struct submission *s = submission_of(p, uid);

    if (s == NULL)
        return;
    switch (s->failure) {
    case SLURM_WELL:
        pilots_away(p, NULL);
        pilots_submitted(p, s->row.pool);
        pilots_look_soon(p);
        inbox_expect(p->sv->inbox);
        break;
    case SLURM_REFUSED: break;
    case SLURM_NOT_NOW:
        pilots_full(p, &s->row, arena_printf(s->arena, "was not taken: %s", s->words));
        break;
    default:
        /* A failure before Slurm was asked is the owner's trouble alone, and an unclear one this
         * request's; after other failures no pilots are submitted for anybody. */
        if (pilots_are_all_away(s->failure, s->was_run, s->account.uid == geteuid()))
            pilots_away(p, s->words);
        else
            pilots_back_off(p, s->row.pool, false,
                            arena_printf(s->arena, "could not be submitted: %s", s->words));
        break;
    }
    if (s->may_be_there)
        pilots_look_soon(p);
    submission_free(s);
    pilots_think(p);
}

static int settle_only(struct server *sv, int64_t uid, struct err *e)
{
    (void)e;
    turn_after(sv, settle, uid);
    return 0;
}

/* Turn work: writes the outcome to the database.  If that fails, the submission ends all the same,
 * so that other pilots can be submitted. */
static int write_outcome(struct server *sv, int64_t uid, struct err *e)
{
    const struct submission *s = submission_of(sv->pilots, uid);

    if (s == NULL || take_outcome(sv->pilots, s, e) >= 0)
        return settle_only(sv, uid, e);
    turn_add_work(sv->turn, settle_only, uid);
    return -1;
}

static void end(struct submission *s, enum slurm_failure failure, const char *words)
{
    s->failure = failure;
    s->words = words == NULL ? "" : arena_strdup(s->arena, words);
    turn_add_work(s->p->sv->turn, write_outcome, s->row.uid);
}

/* ---- sbatch ---- */

static void on_submitted(void *context, struct slurm_result *result)
{
    struct submission *s = context;
    enum slurm_failure failure = slurm_failure_of(result);

    s->call = NULL;
    s->was_run = true;
    s->may_be_there = result->is_late || failure == SLURM_AWAY || failure == SLURM_UNCLEAR;
    if (failure == SLURM_WELL &&
        slurm_read_submitted(buf_text(&result->out), result->out.n, &s->slurm_id, &s->why) < 0) {
        s->may_be_there = true;
        end(s, SLURM_UNCLEAR, s->why.text);
        return;
    }
    if (failure == SLURM_WELL)
        log_event(LOG_INFO, "pilot-submitted", "job", "%lld", (long long)s->slurm_id, "n", "%lld",
                  (long long)s->row.tasks, "user", "%s", s->row.user, "partition", "%s",
                  s->row.spec.partition, NULL);
    end(s, failure, failure == SLURM_WELL ? NULL : slurm_failure_words(result, s->arena));
}

/* The time that the pilot asks for, in ms.  If it is not known how long jobs take, the partition's
 * default is asked for by name, as sites may treat jobs without a time in other ways.  0: none is
 * asked for: the user's own options or Slurm decide. */
static int64_t time_of(const struct submission *s)
{
    const struct pilot_row *row = &s->row;

    if (row->time_ms > 0 || row->spec.extra.n > 0 || !site_is_fresh(s->p))
        return row->time_ms;
    return pilots_default_time_ms(s->p->sv, row->user, &row->spec);
}

static void add_script(const struct submission *s, struct buf *out)
{
    const struct conf *conf = &s->p->sv->conf;
    const struct slurm_site *site = conf_slurm_site(conf, s->row.spec.partition);
    int64_t idle_ms = site != NULL && site->idle_ms > 0 ? site->idle_ms : conf->slurm.idle_ms;
    int64_t time_ms = time_of(s);
    const char *program[20] = { conf->slurm.worker, "pilot", "--server" };
    char self[PATH_MAX], token[TOKEN_HEX], *slash;
    size_t self_n = sizeof self, n = 3;

    if (program[0] == NULL) /* ludwig-worker, beside this ludwigd */
        program[0] = uv_exepath(self, &self_n) < 0 || (slash = strrchr(self, '/')) == NULL
                         ? "ludwig-worker"
                         : arena_printf(s->arena, "%.*s/ludwig-worker", (int)(slash - self), self);
    token_hex(&s->row.token, token);
    program[n++] = reach_endpoints(s->p, s->account.uid, s->arena);
    program[n++] = "--pilot";
    program[n++] = token;
    program[n++] = "--idle";
    program[n++] = arena_printf(s->arena, "%" PRId64, idle_ms);
    if (s->p->site.config.kill_wait_s != SLURM_NONE) {
        program[n++] = "--kill-wait";
        program[n++] = arena_printf(s->arena, "%" PRId64, 1000 * s->p->site.config.kill_wait_s);
    }
    if (conf_has_one_job_each(conf, &s->row.spec))
        program[n++] = "--one-job";
    /* From these a pilot that starts soon knows its end to a few seconds without asking Slurm. */
    if (time_ms > 0 && s->row.spec.extra.n == 0) {
        program[n++] = "--time";
        program[n++] = arena_printf(s->arena, "%" PRId64, time_ms);
        program[n++] = "--submitted";
        program[n++] = arena_printf(s->arena, "%" PRId64, units_now_ms());
    }
    slurm_add_script(out, program);
}

/* The owner's rights for a command, which the caller frees; NULL: ludwigd's own. */
static char *rights_of(const struct submission *s)
{
    return s->account.uid == geteuid() ? NULL : account_rights(&s->account);
}

/* Begins sbatch.  By now it is known how the pilots can reach ludwigd, as far as they can. */
static void run_sbatch(struct submission *s)
{
    const struct pilot_row *row = &s->row;
    const struct slurm_user user = { s->account.name, s->account.home, s->account.shell };
    struct slurm_pool spec = site_spec(&s->p->sv->conf, &row->spec);
    const struct pilot_request r = {
        .pool = &spec,
        .name = row->name,
        .comment = row->comment,
        .folder = s->folder,
        .log = arena_printf(s->arena, "%s/%s.log", s->folder, row->name),
        /* Without such warnings it would come only at the end of the time, known to the pilot. */
        .signal = s->p->site.config.warns_of_preemption ? "B:USR1@60" : NULL,
        .cpus = row->cpus,
        .memory_bytes = row->memory_bytes,
        .time_ms = time_of(s),
        .gpus = row->gpus,
        .n = row->tasks,
    };
    const struct list avoided = fit_avoided_nodes(s->p->sv, (int64_t)row->uid, s->arena);
    const char **exclude;
    char **args;
    char *rights = rights_of(s);
    struct buf script = { 0 };
    struct slurm_command command = { .rights = rights };

    /* These are Slurm's names of the nodes, as the pilots have them from Slurm. */
    exclude = arena_alloc(s->arena, (spec.exclude.n + avoided.n) * sizeof *exclude);
    for (size_t i = 0; i < spec.exclude.n; i++)
        exclude[i] = ((const char *const *)spec.exclude.items)[i];
    for (size_t i = 0; i < avoided.n; i++)
        exclude[spec.exclude.n + i] = ((const char *const *)avoided.items)[i];
    spec.exclude = (struct list){ exclude, spec.exclude.n + avoided.n };
    command.args = args = slurm_sbatch_args(&r, s->arena, &s->why);
    add_script(s, &script);
    command.input = buf_text(&script);
    command.env = s->path == NULL
                      ? pilots_env(&user, s->arena)
                      : slurm_env(&user, s->path, getenv("SLURM_CONF"), false, s->arena);
    if (args == NULL)
        end(s, SLURM_REFUSED, s->why.text);
    else if ((s->call = pilots_run(s->p, &command, on_submitted, s, &s->why)) == NULL)
        end(s, SLURM_AWAY, s->why.text);
    buf_free(&script);
    free(rights);
}

static void on_key(void *context, struct slurm_result *result)
{
    struct submission *s = context;

    s->call = NULL;
    reach_take(s->p, &s->account, result);
    run_sbatch(s);
}

/* ---- the folder of its log ---- */

static void on_folder(void *context, struct slurm_result *result)
{
    struct submission *s = context;
    struct err e = { 0 };
    char *rights;

    s->call = NULL;
    if (result->exit_code != 0 || result->is_late) {
        end(s, SLURM_AWAY,
            arena_printf(s->arena, NO_FOLDER,
                         result->is_late ? "the share does not answer"
                                         : slurm_failure_words(result, s->arena)));
        return;
    }
    if (reach_is_known(s->p, s->account.uid)) {
        run_sbatch(s);
        return;
    }
    rights = rights_of(s);
    s->call = reach_ask(s->p, &s->account, rights, on_key, s, &e);
    if (s->call == NULL) {
        /* Without a key pilots still have sockets and files. */
        log_event(LOG_WARN, "no-pilot-key", "user", "%s", s->account.name, "why", "%s", e.text,
                  NULL);
        run_sbatch(s);
    }
    free(rights);
}

/* Checks, with the owner's rights, that logs can be written there; old ones are deleted beside. */
static void look_at_folder(struct submission *s)
{
    static const char script[] =
        "cd \"$1\" || exit\n"
        "test -w . || { echo \"no right to write into $1\" >&2; exit 1; }\n"
        "find . -maxdepth 1 -type f -name 'ludwig-*.log' -mtime +" LOG_DAYS
        " -delete >/dev/null 2>&1 </dev/null &";
    char *const args[] = { "sh", "-c", (char *)script, "sh", s->folder, NULL };
    const struct slurm_user user = { s->account.name, s->account.home, s->account.shell };
    char *rights = rights_of(s);
    const struct slurm_command command = {
        .args = args, .env = pilots_env(&user, s->arena), .rights = rights, .output_max_bytes = 4096
    };

    s->call = slurm_call_begin(&s->p->sv->loop, &command, on_folder, s, &s->why);
    if (s->call == NULL)
        end(s, SLURM_AWAY, s->why.text);
    free(rights);
}

/* ---- whose ---- */

/* What the thread is asked, and what it finds out. */
struct question {
    struct submission *s; /* only the loop's thread uses it */
    char *user, *share;
    char *own_path; /* ludwigd's PATH */
    uid_t uid;      /* the uid by which ludwigd knows the user */
    struct account account;
    char *path; /* PATH of sbatch, if the user is not ludwigd's own; else NULL */
    struct err why, folder_why;
};

/* PATH for another user, which the caller frees: the usual folders, and before them that folder of
 * ludwigd's PATH that has sbatch. */
static char *path_of_others(const char *path)
{
    char *found = NULL;

    while (*path != '\0' && found == NULL) {
        size_t n = strcspn(path, ":");
        char *folder = mem_strndup(path, n), *sbatch = mem_printf("%s/sbatch", folder);
        char *as_listed = mem_printf(":%s:", folder);

        if (access(sbatch, X_OK) == 0)
            found = strstr(":" USUAL_PATH ":", as_listed) != NULL
                        ? mem_strdup(USUAL_PATH)
                        : mem_printf("%s:" USUAL_PATH, folder);
        free(as_listed);
        free(sbatch);
        free(folder);
        path += n + (path[n] == ':');
    }
    return found != NULL ? found : mem_strdup(USUAL_PATH);
}

static void on_thread(void *context)
{
    struct question *q = context;

    if (account_find(q->user, 0, &q->account, &q->why) < 0)
        return;
    if (q->account.uid != q->uid)
        err_set(&q->why, ERR_DENIED, "%s is another user here now", q->user);
    else if (q->account.uid != geteuid() && geteuid() != 0)
        err_set(&q->why, ERR_DENIED, "this ludwigd is not root, and starts no pilots of %s's",
                q->user);
    else if (server_dirs_pilots(q->share, q->account.uid, q->account.gid, &q->folder_why) == 0 &&
             q->account.uid != geteuid())
        q->path = path_of_others(q->own_path);
}

static void free_question(void *context)
{
    struct question *q = context;

    account_free(&q->account);
    free(q->path);
    free(q->own_path);
    free(q->share);
    free(q->user);
    free(q);
}

static void on_account(void *context, const struct err *why)
{
    struct question *q = context;
    struct submission *s = q->s;

    s->aside = NULL;
    s->account = q->account;
    s->why = why != NULL ? *why : q->why;
    s->path = q->path;
    q->account = (struct account){ 0 };
    q->path = NULL;
    if (s->why.kind == ERR_DENIED || s->why.kind == ERR_NOT_FOUND)
        end(s, SLURM_REFUSED, s->why.text);
    else if (s->why.kind != ERR_NONE)
        end(s, SLURM_AWAY, s->why.text);
    else if (q->folder_why.kind != ERR_NONE)
        end(s, SLURM_AWAY, arena_printf(s->arena, NO_FOLDER, q->folder_why.text));
    else
        look_at_folder(s);
}

static void ask_whose(struct server *sv, void *context)
{
    struct submission *s = context;
    struct question *q = mem_alloc(sizeof *q);
    struct thread_job task = { on_thread, on_account, free_question, q };
    const char *path = getenv("PATH");

    q->s = s;
    q->user = mem_strdup(s->row.user);
    q->uid = s->row.uid;
    q->share = mem_strdup(sv->conf.share);
    q->own_path = mem_strdup(path != NULL ? path : "");
    s->aside = thread_task_begin(&sv->loop, &task);
}

int submission_begin(struct pilots *p, const struct pilot_row *row, struct err *e)
{
    struct submission *s = mem_alloc(sizeof *s);
    size_t i = 0;

    s->p = p;
    s->arena = arena_create();
    if (pilot_row_by_token(p->sv, &row->token, row->task, s->arena, &s->row, e) < 0 ||
        db_run(p->sv->db, e, SQL_PILOTS_ASKED, "t", &row->token) < 0) {
        submission_free(s);
        return -1;
    }
    s->folder = server_dirs_pilots_path(p->sv->conf.share, row->uid);
    while (p->submissions[i] != NULL)
        i++;
    p->submissions[i] = s;
    slurm_budget_take(&p->budget, units_monotonic_ms());
    turn_after_with(p->sv, ask_whose, submission_free, s);
    return 0;
}

void submissions_drop(struct pilots *p)
{
    for (size_t i = 0; i < SUBMISSIONS_MAX; i++)
        if (p->submissions[i] != NULL)
            submission_free(p->submissions[i]);
}
