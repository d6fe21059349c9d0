/* SPDX-License-Identifier: MIT */
/* submit.c - a sweep with all that it takes along, from here to ludwigd's queue */
#include "client/submit/submit.h"

#include "client/pack/git.h"
#include "client/pack/inputs.h"
#include "client/pack/share_data.h"
#include "client/submit/sweep_send.h"

struct submission {
    const struct submit_request *request;
    struct session *session;
    struct place to;
    struct inputs inputs;
    struct jobspec work;  /* as the last try has signed it */
    struct git_state git; /* once git has been waited for */
    bool has_notes;       /* they were said */
};

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
    return answer.folder.mode == 0 ? 0 : upload_make_project(&s->to, &answer.folder, e);
}

/* All that jobs take along is read and on its way, and work says what it is. */
static const struct inputs_packed *pack_inputs(struct submission *s, struct err *e)
{
    const struct submit_request *o = s->request;
    const struct inputs_counted *counted = inputs_count(&s->inputs, e);
    const struct inputs_packed *packed;

    if (counted == NULL)
        return NULL;
    if (!s->has_notes) {
        inputs_note_size(&s->inputs);
        inputs_note_left_out(&s->inputs);
    }
    if (share_data_pack(&s->session->rpc, &o->spec, &s->inputs, e) < 0)
        return NULL;
    packed = inputs_pack(counted, e);
    if (packed == NULL)
        return NULL;
    if (!s->has_notes)
        s->git = git_end(o->git, o->cli->arena);
    s->has_notes = true;
    s->work = o->spec.work;
    s->work.git_commit = s->git.commit;
    s->work.git_dirty = s->git.dirty;
    inputs_sign(packed, &o->spec, o->cli->arena, &s->work);
    return packed;
}

/* sweep.yaml and what else goes to sweeps/N; the texts last as long as summary. */
static struct upload_sweep *begin_sweep_files(struct submission *s,
                                              const struct inputs_arrived *arrived, int64_t sweep,
                                              struct buf *summary, struct err *e)
{
    const struct submit_request *o = s->request;
    struct upload_text files[3] = { { "sweep.yaml", o->spec.text } };
    size_t n = 2;

    submit_request_add_summary(o, &s->work, sweep, summary);
    files[1] = (struct upload_text){ "summary.json", buf_bytes(summary) };
    if (o->points.list != NULL)
        files[n++] = (struct upload_text){ "param2vals.jsonl", param2vals_text(o->points.list) };
    s->to.mode = inputs_project_mode(arrived);
    return upload_sweep_begin(&s->to, sweep, files, n, e);
}

static int send_sweep(struct submission *s, const struct inputs_packed *packed,
                      struct msg_submitted *done, struct buf *summary, struct err *e)
{
    const struct submit_request *o = s->request;
    const struct msg_submit_begin begin = submit_request_begin(o, &s->work);
    const struct inputs_arrived *arrived;
    const struct inputs_settled *settled = NULL;
    const struct sweep_asked *asked = sweep_send_begin(&s->session->rpc, &begin, o->cli->arena, e);
    const struct sweep_open *open;
    struct sweep_sent *sent;
    struct upload_sweep *files;

    if (asked == NULL)
        return -1;
    inputs_push(packed);
    open = sweep_send_opened(asked, e);
    arrived = open == NULL ? NULL : inputs_arrive(packed, e);
    files =
        arrived == NULL ? NULL : begin_sweep_files(s, arrived, sweep_send_number(open), summary, e);
    if (files == NULL)
        return -1;
    sent = sweep_send_points(open, &o->points, o->configs, e);
    if (sent != NULL)
        settled = inputs_settle(arrived, e);
    if (upload_sweep_end(files, settled != NULL ? e : NULL) < 0 || settled == NULL)
        return -1;
    return sweep_send_end(sent, settled, done, e);
}

static int try_once(struct submission *s, struct msg_submitted *done, struct err *e)
{
    const struct inputs_packed *packed = pack_inputs(s, e);
    struct buf summary = { 0 };
    int result = packed == NULL ? -1 : send_sweep(s, packed, done, &summary, e);

    buf_free(&summary);
    return result;
}

/* A sweep that is open ends with its connection. */
static int try_anew(struct submission *s, struct msg_submitted *done, struct err *e)
{
    if (rpc_reopen(&s->session->rpc, e) < 0 || session_drive(s->session, e) == NULL)
        return -1;
    return try_once(s, done, e);
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
        result = try_anew(&s, done, &why);
    }
    inputs_free(&s.inputs);
    return result;
}
