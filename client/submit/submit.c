/* SPDX-License-Identifier: MIT */
/* submit.c - sends a sweep with its source and data to ludwigd's queue */
#include "client/submit/submit.h"

#include <stdlib.h>
#include <string.h>

#include "client/pack/inputs.h"
#include "client/pack/source_changes.h"
#include "client/submit/gone_results.h"
#include "client/submit/gpu_hint.h"
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

enum { COMMIT_MAX_BYTES = 200 };

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

/* Asks ludwigd to make the project's folder, or to say how the client makes it, and for its nodes'
 * GPUs; connects to the drive meanwhile. */
static int open_project(struct submission *s, struct buf *gpus, struct err *e)
{
    const struct spec *spec = &s->request->spec;
    struct msg_submit_begin begin = submit_request_begin(s->request, &spec->work);
    const struct msg_open_project request = { .project = spec->project,
                                              .private_project = spec->private_project,
                                              .wants_pilots = spec->pools.n > 0,
                                              .begins = { &begin, 1 } };
    struct msg_project_open answer;
    struct rpc_question question;
    struct gpu_look look;
    struct err why = { 0 };

    begin.passed = (struct list){ 0 };
    rpc_ask(&s->session->rpc, &question, MSG_OPEN_PROJECT, &request);
    gpu_hint_ask(&look, spec, s->session);
    s->to.drive = session_drive(s->session, &why);
    if (rpc_answer(&s->session->rpc, &question, &answer, e) < 0)
        return -1;
    if (s->to.drive == NULL)
        return err_set(e, why.kind, "%s", why.text);
    if (answer.project != NULL && strcmp(answer.project, spec->project) != 0) {
        s->to.project = arena_strdup(s->request->cli->arena, answer.project);
        output_note("note: project %s is another user's; yours is %s", spec->project,
                    s->to.project);
    }
    gpu_hint_add(gpus, spec, s->session, &look);
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
    if (gone_results_find(s->to.drive, reused, gone, e) < 0)
        return -1;
    if (gone->n > 0)
        output_note(
            "note: %zu job%s that %s done before run%s again: the results are not in %s/runs "
            "any more",
            gone->n, gone->n == 1 ? "" : "s", gone->n == 1 ? "was" : "were",
            gone->n == 1 ? "s" : "", s->to.project);
    return 0;
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
    sent =
        sweep_send_points(open, &o->points, o->configs, !o->spec.in_file_order, o->spec.first, e);
    settled = sent == NULL ? NULL : inputs_settle(arrived, e);
    taken = settled == NULL ? NULL : sweep_send_taken(sent, &reused, e);
    if (taken != NULL && (reused.n == 0 || find_gone(s, &reused, &gone, e) == 0))
        result = sweep_send_end(taken, settled, &gone, done, e);
    free(gone.items);
    return result;
}

int submit_sweep(const struct submit_request *o, struct session *session,
                 struct msg_submitted *done, struct submit_notes *notes, struct err *e)
{
    struct arena *a = o->cli->arena;
    struct submission s = { .request = o, .session = session };
    struct err why = { 0 };
    int result;

    if (o->passed.n > 0 && session->rpc.welcome.is_open)
        return err_set(e, ERR_USAGE, "env: %s", shell_env_open_server);
    s.to = (struct place){ .drive = session_drive_here(session), .project = o->spec.project };
    inputs_plan(&s.inputs, &o->spec, &s.to);
    /* inputs_refuse comes before the project's folder is made: a refused sweep leaves nothing. */
    if (inputs_refuse(&s.inputs, e) < 0 || open_project(&s, &notes->gpus, e) < 0) {
        inputs_free(&s.inputs);
        return -1;
    }
    s.inputs.to = s.to;
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
            source_changes_add(&notes->changes, session, &s.inputs, done->sweep);
    }
    inputs_free(&s.inputs);
    return result;
}
