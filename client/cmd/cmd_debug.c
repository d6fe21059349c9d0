/* SPDX-License-Identifier: MIT */
/* cmd_debug.c - ludwig debug */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/query/jobinfo.h"
#include "client/query/pages.h"
#include "client/query/selector.h"
#include "client/session/session.h"
#include "client/share/download.h"
#include "client/share/unpack.h"
#include "client/term/output.h"
#include "client/term/safe_text.h"
#include "common/base/io.h"
#include "common/base/path.h"
#include "common/data/json.h"
#include "common/data/msgpack.h"
#include "common/data/template.h"
#include "common/data/yaml.h"
#include "common/proto/envvars.h"
#include "common/proto/layout.h"

enum { JOB_JSON_MAX_BYTES = 64 * 1024 * 1024 };

struct options {
    bool no_shell;
};

static const struct opt options[] = {
    { "no-shell", 0, OPT_FLAG, NULL, offsetof(struct options, no_shell), 0, 0,
      "copy the files and print the command line, and start no shell" },
    { 0 },
};

/* One run of the command. */
struct debug {
    struct session session;
    struct arena *arena;
    struct target target;
    struct job_info job;
    struct sweep_work work;
    const char *folder;  /* absolute */
    const char *left;    /* what the job left, below the folder; NULL: nothing */
    const char *log;     /* the job's log, likewise */
    const char *source;  /* the job's source, likewise */
    struct value record; /* its job.json; VALUE_NULL: there is none */
    bool is_own; /* the user's own sweep; otherwise none of its programs or variables may be used */
};

static const char *in_folder(const struct debug *d, const char *name)
{
    return arena_printf(d->arena, "%s/%s", d->folder, name);
}

/* ---- files ---- */

static void note_unread(void *context, const struct err *why)
{
    (void)context;
    output_note("note: not copied: %s", why->text);
}

/* The path below the project, once it was copied; NULL: it is not on the share. */
static int copy_path(struct debug *d, struct download *copy, const char *path, const char **to,
                     struct err *e)
{
    size_t n = strlen(d->work.project) + 1;
    int found;

    *to = NULL;
    if (path == NULL || path[0] == '\0')
        return 0;
    if (strncmp(path, d->work.project, n - 1) != 0 || path[n - 1] != '/')
        return err_set(e, ERR_PROTOCOL, "%s is not below the project %s", path, d->work.project);
    found = download_path(copy, path, n, e);
    if (found > 0)
        *to = in_folder(d, path + n);
    return found < 0 ? -1 : 0;
}

static int copy_files(struct debug *d, struct share_dir *drive, struct err *e)
{
    static const char *const own[] = { "runs", "logs", "failed", "source", NULL };
    static const char text[] = "Files that `ludwig debug` copied: no part of a sweep's source.\n";
    struct download *copy = download_open(drive, d->folder, e);
    int64_t n_astray;
    int result = -1;

    if (copy == NULL)
        return -1;
    download_watch(copy, NULL, note_unread, NULL);
    if (download_mark(copy, LAYOUT_FETCHED, text, own, e) == 0 &&
        copy_path(d, copy, d->job.run_path, &d->left, e) == 0)
        result = copy_path(d, copy, d->job.log_path, &d->log, e);
    n_astray = download_counts(copy)->astray;
    if (n_astray > 0)
        output_note(
            "note: %" PRId64
            " link%s that may lead out of %s left out; `ludwig fetch --all-links` copies %s",
            n_astray, n_astray == 1 ? "" : "s", d->folder, n_astray == 1 ? "it" : "them");
    download_close(copy);
    return result;
}

/* A source that is there already may have been changed by hand: it stays. */
static int copy_source(struct debug *d, struct share_dir *drive, struct err *e)
{
    const struct dataset *source = &d->work.work.source;
    struct pack_totals totals;
    struct err why = { 0 };

    if (digest_is_zero(&source->id))
        return 0;
    d->source = in_folder(d, "source");
    if (unpack_tree(drive, d->work.project, &source->id, d->source, &totals, &why) == 0)
        return 0;
    if (why.kind == ERR_EXISTS)
        output_note("note: %s is there already, and was left as it is", d->source);
    else
        return err_set(e, why.kind, "its source: %s", why.text);
    return 0;
}

/* Reads the job's job.json for the attempt; it exists once the job has ended. */
static void read_record(struct debug *d)
{
    char *path = d->left == NULL ? NULL : path_join(d->left, LAYOUT_JOB_JSON);
    struct buf text = { 0 };

    d->record = value_null();
    if (path != NULL && io_read_file(path, JOB_JSON_MAX_BYTES, &text, NULL) == 0 &&
        json_read(arena_strndup(d->arena, buf_text(&text), text.n), text.n, d->arena, &d->record,
                  NULL) < 0)
        d->record = value_null();
    buf_free(&text);
    free(path);
}

/* ---- variables ---- */

static void set(const char *name, const char *value)
{
    (void)setenv(name, value, 1); /* fails only for lack of memory */
}

static void set_number(struct debug *d, enum job_envvar which, int64_t number)
{
    set(job_envvars[which].name, arena_printf(d->arena, "%" PRId64, number));
}

/* Sets a variable to a path in the folder, and makes it a folder if it is to be one. */
static int set_path(struct debug *d, enum job_envvar which, const char *name, bool is_folder,
                    struct err *e)
{
    const char *path = in_folder(d, name);

    set(job_envvars[which].name, path);
    return is_folder ? io_make_dirs(path, 0777, e) : 0;
}

static int write_param2val(struct debug *d, struct err *e)
{
    struct buf json = { 0 }, yaml = { 0 }, packed = { 0 };
    const struct {
        const char *name;
        struct buf *content;
    } forms[] = { { "param2val.json", &json },
                  { "param2val.yaml", &yaml },
                  { "param2val.msgpack", &packed } };
    int result = 0;

    json_add_pretty(&json, &d->job.params);
    yaml_add_value(&yaml, &d->job.params);
    mp_add_value(&packed, &d->job.params);
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        if (result == 0)
            result = io_write_file_at(AT_FDCWD, in_folder(d, forms[i].name),
                                      forms[i].content->bytes, forms[i].content->n, 0666, e);
        buf_free(forms[i].content);
    }
    return result;
}

/* Sets the variables that the job had, with folders on this machine; results go to save/. */
static int set_variables(struct debug *d, struct err *e)
{
    const struct env_entry *env = d->work.work.env.items;
    const struct value *token = value_get(&d->record, "token");
    const struct value *seed = value_get(&d->record, "seed");

    set(job_envvars[ENV_JOB].name, d->job.job);
    if (token != NULL && token->type == VALUE_STR)
        set(job_envvars[ENV_ATTEMPT].name, arena_strndup(d->arena, token->str.s, token->str.n));
    set_number(d, ENV_SWEEP, d->target.sweep);
    set(job_envvars[ENV_PROJECT].name, d->work.project);
    set(job_envvars[ENV_PARAM_NAME].name, d->job.param_name);
    set(job_envvars[ENV_JOB_NAME].name, d->job.job_name);
    set_number(d, ENV_REP, d->job.rep);
    if (seed != NULL && seed->type == VALUE_INT)
        set_number(d, ENV_SEED, seed->i);
    set_number(d, ENV_RESTART, d->job.attempt > 0 ? d->job.attempt - 1 : 0);
    if (session_sees_drive(&d->session))
        set(job_envvars[ENV_PROJECT_PATH].name,
            session_shown_path(&d->session, d->arena, d->work.project));
    for (size_t i = 0; i < d->work.work.env.n; i++)
        set(env[i].name, env[i].value);
    if (set_path(d, ENV_PARAM2VAL, "param2val.json", false, e) < 0 ||
        set_path(d, ENV_DATA, "data", true, e) < 0 ||
        set_path(d, ENV_SAVE_PATH, "save", true, e) < 0 ||
        set_path(d, ENV_METRICS, "metrics", false, e) < 0 ||
        set_path(d, ENV_CHECKPOINT, "checkpoint", true, e) < 0)
        return -1;
    return write_param2val(d, e);
}

/* ---- what is said ---- */

static void say_missing(const struct debug *d, struct buf *out)
{
    const struct data_entry *data = d->work.work.data.items;
    const char *const *passed = d->work.work.passed.items;

    for (size_t i = 0; i < d->work.work.data.n; i++)
        buf_printf(out, "data      %s is not copied: put it, or a link to it, at %s/%s\n",
                   data[i].name, in_folder(d, "data"), data[i].name);
    for (size_t i = 0; i < d->work.work.passed.n; i++)
        buf_printf(out, "variable  %s came from the shell of the submit, and is not known here\n",
                   passed[i]);
    if (d->work.work.container != NULL)
        buf_printf(out, "container %s, which this shell is not in\n", d->work.work.container);
    if (d->work.work.environment.path != NULL)
        buf_printf(out, "python    it ran in %s, which is not active here\n",
                   d->work.work.environment.path);
}

static int say_all(struct debug *d, struct err *e)
{
    const struct jobspec *w = &d->work.work;
    struct buf out = { 0 }, command = { 0 };

    if (template_expand(w->command, &d->job.params, &command, NULL) < 0)
        buf_add_str(&command, w->command);
    buf_printf(&out, "job       %s, attempt %" PRId64 ", is %s", d->job.job, d->job.attempt,
               job_state_names[d->job.state]);
    if (d->job.reason != NULL)
        buf_printf(&out, ": %s", d->job.reason);
    buf_printf(&out, "\nleft      %s\n", d->left != NULL ? d->left : "nothing (yet)");
    if (d->job.state == JOB_RUNNING)
        buf_printf(&out, "          `ludwig peek %s` shows what it has saved so far\n", d->job.job);
    buf_printf(&out, "log       %s\n", d->log != NULL ? d->log : "none (yet)");
    buf_printf(&out, "source    %s\n", d->source != NULL ? d->source : "it has none");
    say_missing(d, &out);
    if (w->setup != NULL)
        buf_printf(&out, "setup     %s\n", w->setup);
    buf_printf(&out, "command   %s\n", buf_text(&command));
    safe_text_clean(&out, "\n");
    buf_free(&command);
    return output_write(&out, e);
}

/* ---- the shell ---- */

/* Runs a shell there; Ctrl-C ends only what runs in the shell. */
static int run_shell(const struct debug *d, struct err *e)
{
    const char *shell = getenv("SHELL"), *where = d->source != NULL ? d->source : d->folder;
    struct sigaction ignore = { .sa_handler = SIG_IGN }, before[2];
    int status = 0;
    pid_t pid;

    if (shell == NULL || shell[0] != '/')
        shell = "/bin/sh";
    sigemptyset(&ignore.sa_mask);
    sigaction(SIGINT, &ignore, &before[0]);
    sigaction(SIGQUIT, &ignore, &before[1]);
    pid = fork();
    if (pid == 0) {
        sigaction(SIGINT, &before[0], NULL);
        sigaction(SIGQUIT, &before[1], NULL);
        if (chdir(where) == 0)
            execl(shell, shell, (char *)NULL);
        fprintf(stderr, "ludwig: %s in %s: %s\n", shell, where, strerror(errno));
        _exit(127);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    sigaction(SIGINT, &before[0], NULL);
    sigaction(SIGQUIT, &before[1], NULL);
    if (pid < 0)
        return err_sys(e, "start %s", shell);
    output_note("%s stays; `ludwig debug %s %s` comes back to it", d->folder, d->job.job,
                d->folder);
    return 0;
}

/* ---- the command ---- */

static int make_folder(struct debug *d, const char *word, struct err *e)
{
    char *usual = mem_printf("%s-%s", path_basename(d->work.project), d->job.job);
    const char *name = word != NULL ? word : usual;
    char *real = NULL;

    if (!path_is_inside(d->work.project))
        err_set(e, ERR_PROTOCOL, "'%s' is no project", d->work.project);
    else if (io_make_dirs(name, 0777, e) == 0)
        real = path_real(name, e);
    if (real != NULL)
        d->folder = arena_strdup(d->arena, real);
    free(real);
    free(usual);
    return d->folder != NULL ? 0 : -1;
}

static int ask(struct debug *d, const char *word, struct err *e)
{
    struct msg_get_work request;
    struct msg_got_work got;
    struct job_info job;

    if (selector_job(&d->session.rpc, word, &d->target, e) < 0 ||
        pages_job(&d->session.rpc, &d->target, &job, e) < 0 || jobinfo_check_names(&job, e) < 0)
        return -1;
    d->job = *(const struct job_info *)schema_copy(&job_info_schema, &job, d->arena);
    request.sweep = d->target.sweep;
    if (rpc_call(&d->session.rpc, MSG_GET_WORK, &request, &got, e) < 0)
        return -1;
    d->is_own = rpc_is_as(&d->session.rpc, got.work.user);
    d->work = *(const struct sweep_work *)schema_copy(&sweep_work_schema, &got.work, d->arena);
    return 0;
}

static int prepare(struct debug *d, const char *folder, struct err *e)
{
    struct share_dir *drive;
    int result;

    if (make_folder(d, folder, e) < 0)
        return -1;
    drive = session_open_drive(&d->session, e);
    if (drive == NULL)
        return -1;
    result = copy_files(d, drive, e);
    if (result == 0)
        result = copy_source(d, drive, e);
    share_close(drive);
    if (result < 0)
        return -1;
    read_record(d);
    return set_variables(d, e) < 0 ? -1 : say_all(d, e);
}

static int debug_job(struct cli *cli, struct err *e)
{
    const struct options *o = cli->options;
    struct opt_words job = { cli->args.words, 1 };
    struct debug d = { .arena = cli->arena };
    int result;

    if (selector_check(&job, e) < 0 || session_open(cli, &d.session, e) < 0)
        return -1;
    result = ask(&d, cli->args.words[0], e);
    if (result == 0)
        result = prepare(&d, cli->args.n > 1 ? cli->args.words[1] : NULL, e);
    session_close(&d.session);
    if (result == 0 && !o->no_shell && !d.is_own)
        output_note("note: no shell was started, as its sweep is %s's, whose variables could run "
                    "programs in it as you",
                    d.work.user != NULL ? d.work.user : "another user");
    else if (result == 0 && !o->no_shell)
        result = run_shell(&d, e);
    return result < 0 ? -1 : EXIT_WELL;
}

const struct command cmd_debug = {
    .name = "debug",
    .args = "JOB [DIR] [OPTION]...",
    .help = "copy all that a job had and left, and start a shell there",
    .more = "Into DIR (the default is PROJECT-JOB) come what the job left, its log, and its\n"
            "source as it was submitted. The command line that was run is printed, and\n"
            "$SHELL starts in the source with the job's LUDWIG_ variables and those of the\n"
            "sweep; what is saved goes to DIR/save. Data are not copied. DIR stays. For a\n"
            "job of another user, which admins may look at, no shell is started.\n"
            "\n"
            "  ludwig debug 7.13\n",
    .min_args = 1,
    .max_args = 2,
    .options = options,
    .options_size = sizeof(struct options),
    .run = debug_job,
};
