/* SPDX-License-Identifier: MIT */
/* submit.c - sends a sweep with its source and data to ludwigd's queue */
#include "client/submit/submit.h"

#include <stdlib.h>
#include <string.h>

#include "client/pack/inputs.h"
#include "client/pack/source_changes.h"
#include "client/submit/sweep_send.h"
#include "client/term/output.h"
#include "client/term/safe_text.h"
#include "client/util/shell_env.h"

struct submission {
    const struct submit_request *request;
    struct session *session;
    struct place to;
    struct inputs inputs;
    struct jobspec work;    /* by the last try, with digests */
    const char *git_commit; /* set by take_look; NULL: no repository, or no git here */
    bool git_dirty;         /* the folder differs from the commit */
    bool has_notes;         /* notes were printed */
};

enum { COMMIT_MAX_BYTES = 200, LOOK_AT_ONCE = 500 };

void submit_begin_look(struct git_look *look, const char *folder)
{
    const char *const head[] = { "git", "-C", folder, "rev-parse", "--verify", "HEAD", NULL };
    const char *const status[] = { "git",    "--no-optional-locks", "-C", folder,
                                   "status", "--porcelain",         "--", ".",
                                   NULL };

    (void)child_begin(&look->head, head, NULL);
    (void)child_begin(&look->status, status, NULL);
}

/* Waits for git, and sets git_commit and git_dirty. */
static void take_look(struct submission *s)
{
    struct git_look *look = s->request->git;
    struct buf commit = { 0 }, changes = { 0 };
    bool is_repository = child_end(&look->head, COMMIT_MAX_BYTES, &commit) == 0;
    size_t n = strcspn(buf_text(&commit), "\n");

    if (is_repository && n >= 40 && strspn(buf_text(&commit), "0123456789abcdef") == n) {
        s->git_commit = arena_strndup(s->request->cli->arena, buf_text(&commit), n);
        /* One byte of `git status` means that there are changes. */
        (void)child_end(&look->status, 1, &changes);
        s->git_dirty = changes.n > 0;
    }
    child_stop(&look->status);
    buf_free(&commit);
    buf_free(&changes);
}

void submit_end_look(struct git_look *look)
{
    child_stop(&look->head);
    child_stop(&look->status);
}

/* Has ludwigd make the project's folder, or order the client to, and connects to the drive
 * meanwhile. */
static int open_project(struct submission *s, struct err *e)
{
    const struct spec *spec = &s->request->spec;
    const struct msg_open_project request = { .project = spec->project,
                                              .private_project = spec->private_project,
                                              .wants_pilots = spec->pools.n > 0 };
    struct msg_project_open answer;
    struct rpc_question question;
    struct err why = { 0 };

    rpc_ask(&s->session->rpc, &question, MSG_OPEN_PROJECT, &request);
    s->to = (struct place){ .drive = session_drive(s->session, &why), .project = spec->project };
    if (rpc_answer(&s->session->rpc, &question, &answer, e) < 0)
        return -1;
    if (s->to.drive == NULL)
        return err_set(e, why.kind, "%s", why.text);
    if (answer.project != NULL && strcmp(answer.project, spec->project) != 0) {
        s->to.project = arena_strdup(s->request->cli->arena, answer.project);
        output_note("note: project %s is another user's; yours is %s", spec->project,
                    s->to.project);
    }
    return answer.folder.mode == 0 ? 0 : store_make_project(&s->to, &answer.folder, e);
}

/* Has a worker pack a path on the share, and waits until that is done.  Prints each state once, as
 * packing may take long. */
static int pack_on_share(struct rpc *rpc, const char *project, const char *path,
                         struct dataset *set, struct err *e)
{
    struct msg_pack_share request = { .project = project, .path = path };
    struct msg_share_packed packed;
    int noted = PACKING_DONE;

    for (;;) {
        if (rpc_call(rpc, MSG_PACK_SHARE, &request, &packed, e) < 0)
            return safe_text_make_harmless(e);
        if (packed.state == PACKING_DONE)
            break;
        if (packed.state != noted && (packed.state == PACKING_RUNNING || packed.reason != NULL)) {
            struct buf name = { 0 };

            safe_text_add_harmless(&name, path, strlen(path), "");
            if (packed.state == PACKING_WAITING)
                output_note("%s waits to be packed: %s", buf_text(&name), packed.reason);
            else if (packed.state == PACKING_RUNNING)
                output_note("%s is being packed on %s", buf_text(&name),
                            packed.node == NULL ? "?" : packed.node);
            buf_free(&name);
            noted = packed.state;
        }
        request.pass = packed.pass;
        request.seen = packed.seen;
    }
    *set = packed.set;
    return 0;
}

/* Reads source and data, begins to send them, and fills work; NULL with e set when that failed. */
static const struct inputs_packed *pack_inputs(struct submission *s, struct err *e)
{
    const struct submit_request *o = s->request;
    const struct spec_data *data = o->spec.data.items;
    const struct inputs_counted *counted = inputs_count(&s->inputs, e);
    const struct inputs_packed *packed;

    if (counted == NULL)
        return NULL;
    if (!s->has_notes) {
        inputs_note_size(&s->inputs);
        inputs_note_left_out(&s->inputs);
    }
    for (size_t i = 0; i < o->spec.data.n; i++)
        if (data[i].share != NULL && pack_on_share(&s->session->rpc, s->to.project, data[i].share,
                                                   &s->inputs.data[i].set, e) < 0)
            return NULL;
    packed = inputs_pack(counted, e);
    if (packed == NULL)
        return NULL;
    if (!s->has_notes)
        take_look(s);
    s->has_notes = true;
    s->work = o->spec.work;
    s->work.git_commit = s->git_commit;
    s->work.git_dirty = s->git_dirty;
    inputs_sign(packed, &o->spec, o->cli->arena, &s->work);
    return packed;
}

/* Adds sweep.yaml, summary.json and param2vals.jsonl of sweeps/N to the upload. */
static int add_sweep_files(const struct submission *s, const struct inputs_arrived *arrived,
                           int64_t sweep, struct err *e)
{
    const struct submit_request *o = s->request;
    struct store_text files[3] = { { "sweep.yaml", o->spec.text } };
    struct buf summary = { 0 };
    size_t n = 2;
    int result;

    submit_request_add_summary(o, &s->work, sweep, &summary);
    files[1] = (struct store_text){ "summary.json", buf_bytes(&summary) };
    if (o->points.list != NULL)
        files[n++] = (struct store_text){ "param2vals.jsonl", param2vals_text(o->points.list) };
    result = inputs_add_sweep(arrived, sweep, files, n, e);
    buf_free(&summary);
    return result;
}

static int find_gone(struct submission *s, const struct list *reused, struct list *gone,
                     struct err *e)
{
    const struct reused_job *items = reused->items;
    struct gone_job *found = mem_resize(NULL, reused->n, sizeof *found);
    struct share_look *looks = mem_resize(NULL, LOOK_AT_ONCE, sizeof *looks);
    struct share_dir *fs = share_connection_read(s->to.drive, e);
    struct arena *a = arena_create();

    *gone = (struct list){ found, 0 };
    for (size_t from = 0; fs != NULL && from < reused->n; from += LOOK_AT_ONCE) {
        size_t n = reused->n - from < LOOK_AT_ONCE ? reused->n - from : LOOK_AT_ONCE;

        for (size_t i = 0; i < n; i++)
            looks[i] = (struct share_look){ .path = items[from + i].run_path };
        share_look(fs, looks, n, NULL, a);
        for (size_t i = 0; i < n; i++)
            if (looks[i].why.kind == ERR_NOT_FOUND)
                found[gone->n++].id = items[from + i].id;
        arena_reset(a);
    }
    arena_destroy(a);
    free(looks);
    if (gone->n > 0)
        output_note(
            "note: %zu job%s that %s done before run%s again: the results are not in %s/runs "
            "any more",
            gone->n, gone->n == 1 ? "" : "s", gone->n == 1 ? "was" : "were",
            gone->n == 1 ? "s" : "", s->to.project);
    share_close(fs);
    return fs == NULL ? -1 : 0;
}

static int try_once(struct submission *s, struct msg_submitted *done, struct err *e)
{
    const struct submit_request *o = s->request;
    const struct inputs_packed *packed = pack_inputs(s, e);
    struct msg_submit_begin begin = submit_request_begin(o, &s->work);
    const struct inputs_arrived *arrived;
    const struct inputs_settled *settled;
    const struct sweep_asked *asked;
    const struct sweep_open *open;
    struct list reused, gone = { 0 };
    struct sweep_sent *sent;
    struct sweep_taken *taken;
    int result = -1;

    if (packed == NULL)
        return -1;
    begin.project = s->to.project;
    asked = sweep_send_begin(&s->session->rpc, &begin, o->cli->arena, e);
    if (asked == NULL)
        return -1;
    inputs_push(packed);
    open = sweep_send_opened(asked, e);
    arrived = open == NULL ? NULL : inputs_arrive(packed, e);
    if (arrived == NULL || add_sweep_files(s, arrived, sweep_send_number(open), e) < 0)
        return -1;
    sent = sweep_send_points(open, &o->points, o->configs, !o->spec.in_file_order, e);
    settled = sent == NULL ? NULL : inputs_settle(arrived, e);
    taken = settled == NULL ? NULL : sweep_send_taken(sent, &reused, e);
    if (taken != NULL && (reused.n == 0 || find_gone(s, &reused, &gone, e) == 0))
        result = sweep_send_end(taken, settled, &gone, done, e);
    free(gone.items);
    return result;
}

int submit_sweep(const struct submit_request *o, struct session *session,
                 struct msg_submitted *done, struct buf *changes, struct err *e)
{
    struct arena *a = o->cli->arena;
    struct submission s = { .request = o, .session = session };
    struct err why = { 0 };
    int result;

    if (o->passed.n > 0 && session->rpc.welcome.is_open)
        return err_set(e, ERR_USAGE, "env: %s", shell_env_open_server);
    if (open_project(&s, e) < 0)
        return -1;
    inputs_plan(&s.inputs, &o->spec, &s.to);
    result = try_once(&s, done, &why);
    while (result < 0 && inputs_try_again(&s.inputs, &why, e) == 0) {
        err_clear(&why);
        /* An open sweep ends with its connection. */
        result = rpc_reopen(&session->rpc, &why) < 0 || session_drive(session, &why) == NULL
                     ? -1
                     : try_once(&s, done, &why);
    }
    if (result == 0) {
        done->project = arena_strdup(a, done->project);
        done->note = done->note != NULL ? arena_strdup(a, done->note) : NULL;
        done->done_in = done->done_in != NULL ? arena_strdup(a, done->done_in) : NULL;
        if (done->done_otherwise > 0 && done->done_in == NULL)
            source_changes_add(changes, session, &s.inputs, done->sweep);
    }
    inputs_free(&s.inputs);
    return result;
}
