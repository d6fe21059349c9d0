/* SPDX-License-Identifier: MIT */
/* submit.c - a sweep with all that it takes along, from here to ludwigd's queue */
#include "client/submit/submit.h"

#include <string.h>

#include "client/pack/inputs.h"
#include "client/submit/sweep_send.h"
#include "client/term/output.h"
#include "client/term/safe_text.h"

struct submission {
    const struct submit_request *request;
    struct session *session;
    struct place to;
    struct inputs inputs;
    struct jobspec work;    /* as the last try has signed it */
    const char *git_commit; /* NULL: no repository, or no git here; once git has been waited for */
    bool git_dirty;         /* something in the folder is not as in the commit */
    bool has_notes;         /* they were said */
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

/* Waits for git. */
static void take_look(struct submission *s)
{
    struct git_look *look = s->request->git;
    struct buf commit = { 0 }, changes = { 0 };
    bool is_repository = child_end(&look->head, COMMIT_MAX_BYTES, &commit) == 0;
    size_t n = strcspn(buf_text(&commit), "\n");

    if (is_repository && n >= 40 && strspn(buf_text(&commit), "0123456789abcdef") == n) {
        s->git_commit = arena_strndup(s->request->cli->arena, buf_text(&commit), n);
        /* One byte is enough to know. */
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

/* ludwigd opens the project's folder, or says how it is to be made, while the drive is looked for. */
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
    if (answer.project != NULL)
        s->to.project = arena_strdup(s->request->cli->arena, answer.project);
    return answer.folder.mode == 0 ? 0 : store_make_project(&s->to, &answer.folder, e);
}

/* Has a worker pack what lies on the shared drive already, and waits for that.  Each state is said once,
 * as it may take long. */
static int pack_on_share(struct rpc *rpc, const char *project, const char *path,
                         struct dataset *set, struct err *e)
{
    struct msg_pack_share request = { .project = project, .path = path };
    struct msg_share_packed packed;
    int noted = PASS_DONE;

    for (;;) {
        if (rpc_call(rpc, MSG_PACK_SHARE, &request, &packed, e) < 0)
            return safe_text_make_harmless(e);
        if (packed.state == PASS_DONE)
            break;
        if (packed.state != noted && (packed.state == PASS_RUNNING || packed.reason != NULL)) {
            struct buf name = { 0 };

            safe_text_add_harmless(&name, path, strlen(path), "");
            if (packed.state == PASS_WAITING)
                output_note("%s waits to be packed: %s", buf_text(&name), packed.reason);
            else if (packed.state == PASS_RUNNING)
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

/* All that jobs take along is read and on its way, and work says what it is. */
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

/* sweep.yaml and what else goes to sweeps/N. */
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

/* Two programs in one project share param_001 and all that follows, which is seldom meant. */
static void note_folder(const struct submission *s, const char *before)
{
    struct buf name = { 0 };

    if (before == NULL)
        return;
    safe_text_add_harmless(&name, before, strlen(before), "");
    output_note("note: project %s was submitted from %s before; if this is another program, give it "
                "a project of its own (--project NAME)",
                s->request->spec.project, buf_text(&name));
    buf_free(&name);
}

static int try_once(struct submission *s, struct msg_submitted *done, struct err *e)
{
    const struct submit_request *o = s->request;
    const struct inputs_packed *packed = pack_inputs(s, e);
    const struct msg_submit_begin begin = submit_request_begin(o, s->to.project, &s->work);
    const struct inputs_arrived *arrived;
    const struct inputs_settled *settled;
    const struct sweep_asked *asked;
    const struct sweep_open *open;
    struct sweep_sent *sent;

    if (packed == NULL)
        return -1;
    asked = sweep_send_begin(&s->session->rpc, &begin, o->cli->arena, e);
    if (asked == NULL)
        return -1;
    inputs_push(packed);
    open = sweep_send_opened(asked, e);
    if (open != NULL)
        note_folder(s, sweep_send_before(open));
    arrived = open == NULL ? NULL : inputs_arrive(packed, e);
    if (arrived == NULL || add_sweep_files(s, arrived, sweep_send_number(open), e) < 0)
        return -1;
    sent = sweep_send_points(open, &o->points, o->configs, e);
    settled = sent == NULL ? NULL : inputs_settle(arrived, e);
    return settled == NULL ? -1 : sweep_send_end(sent, settled, done, e);
}

int submit_sweep(const struct submit_request *o, struct session *session,
                 struct msg_submitted *done, struct err *e)
{
    struct submission s = { .request = o, .session = session };
    struct err why = { 0 };
    int result;

    if (open_project(&s, e) < 0)
        return -1;
    inputs_plan(&s.inputs, &o->spec, &s.to);
    result = try_once(&s, done, &why);
    while (result < 0 && inputs_try_again(&s.inputs, &why, e) == 0) {
        err_clear(&why);
        /* A sweep that is open ends with its connection. */
        result = rpc_reopen(&session->rpc, &why) < 0 || session_drive(session, &why) == NULL
                     ? -1
                     : try_once(&s, done, &why);
    }
    inputs_free(&s.inputs);
    return result;
}
