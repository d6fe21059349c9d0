/* SPDX-License-Identifier: MIT */
/* handle_project.c - a project is asked for by itself, before there is a sweep */
#include "server/conn/handler.h"
#include "server/conn/permission.h"
#include "server/pilot/pilots.h"
#include "server/share/project.h"

int handle_open_project(struct server *sv, struct ask *ask, const void *request, void *reply,
                        struct err *e)
{
    const struct msg_open_project *req = request;
    struct msg_project_open *rep = reply;

    if (project_check_name(req->project, e) < 0 || may_submit(&sv->conf, ask->conn, e) < 0)
        return -1;
    if (req->wants_pilots)
        pilots_expect(sv);
    return project_prepare(sv, ask, req->project, req->private_project, &rep->folder, e);
}
