/* SPDX-License-Identifier: MIT */
/* pack_source.c - opens and reads a project's packs on the share */

#include "worker/stager/pack_source.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/base/path.h"
#include "common/pack/pack_object.h"
#include "common/proto/layout.h"
#include "common/share/share_project.h"

#define ASIDE ".bad"

/* ---- the folder ---- */

/* If the project's folder cannot be seen, the share is away (ERR_UNREACHABLE). */
int pack_source_open(struct packs *p, const struct pack_source_at *at, struct err *e)
{
    struct share_dir *share, *project = NULL;
    struct share_modes modes;
    struct buf path = { 0 };
    struct err why = { 0 };
    const char *below;

    *p = (struct packs){ .at = *at, .access = shares_create(&at->source) };
    share = share_open(p->access, at->share, &why);
    if (share != NULL)
        project = share_project_open_project(share, at->project, &modes, &why);
    share_close(share);
    if (project == NULL) {
        err_set(e, why.kind == ERR_NOT_FOUND ? ERR_UNREACHABLE : why.kind, "%s", why.text);
        pack_source_close(p);
        return -1;
    }
    layout_packs(&path, at->project);
    below = strchr(buf_text(&path), '/') + 1;
    p->dir = share_open_dir(project, below, &why);
    if (p->dir == NULL && why.kind == ERR_NOT_FOUND &&
        !share_project_is_listed(project, LAYOUT_SERVER_DIR, path_basename(below)))
        err_set(e, ERR_NOT_FOUND, "nothing was ever sent to project %s: there is no %s",
                at->project, buf_text(&path));
    else if (p->dir == NULL)
        err_set(e, why.kind == ERR_NOT_FOUND ? ERR_FAILED : why.kind, "%s", why.text);
    share_close(project);
    buf_free(&path);
    if (p->dir != NULL)
        return 0;
    pack_source_close(p);
    return -1;
}

void pack_source_close(struct packs *p)
{
    share_close(p->dir);
    share_close(p->drive);
    shares_destroy(p->access);
    *p = (struct packs){ .dir = NULL };
}

/* ---- damaged files ---- */

static int set_aside(struct packs *p, const char *path, struct err *e)
{
    char *aside = mem_printf("%s" ASIDE, path);
    struct err why = { 0 }, was = *e;

    (void)share_remove_file(p->dir, aside, NULL);
    if (share_rename(p->dir, path, p->dir, aside, &why) == 0)
        err_set(e, ERR_PROTOCOL, "%s; it was renamed to *" ASIDE ": submit again, to send it anew",
                was.text);
    else
        err_set(e, ERR_PROTOCOL, "%s; rename or remove it, and submit again (%s)", was.text,
                why.text);
    free(aside);
    return -1;
}

int pack_source_set_part_aside(struct packs *p, const struct pack_part *part, struct err *e)
{
    struct buf path = { 0 };

    if (pack_is_stored(part->form)) {
        pack_part_path(&path, part);
        set_aside(p, buf_text(&path), e);
        buf_free(&path);
    }
    return -1;
}

/* ---- reading ---- */

/* Says why a file is missing; a network file system may say so for half a minute of a new one. */
static int explain_missing(struct packs *p, const char *path, struct err *e)
{
    char *folder = path_dirname(path), *bad = mem_printf("%s" ASIDE, path_basename(path));
    bool is_there = share_project_is_listed(p->dir, folder, path_basename(path));
    bool was_damaged = share_project_is_listed(p->dir, folder, bad);

    free(folder);
    free(bad);
    if (is_there)
        return err_set(e, ERR_FAILED, "%s of project %s cannot be seen yet", path, p->at.project);
    return err_set(
        e, ERR_NOT_FOUND, "%s is not among the packs of project %s: it was %s; submit again", path,
        p->at.project, was_damaged ? "damaged, and renamed to *" ASIDE : "removed, or never sent");
}

static int fetch(void *context, enum pack_object kind, const struct digest *name, size_t max_bytes,
                 struct buf *out, struct err *e)
{
    struct packs *p = context;
    struct buf path = { 0 };
    struct err why = { 0 };
    int result = 0;

    pack_object_path(&path, kind, name);
    if (share_read(p->dir, buf_text(&path), max_bytes + 1, out, &why) < 0)
        result = why.kind == ERR_NOT_FOUND ? explain_missing(p, buf_text(&path), e)
                                           : err_set(e, why.kind, "%s", why.text);
    else if (pack_check_digest(name, buf_bytes(out), kind, &why) < 0) {
        err_set(e, ERR_PROTOCOL, "%s is damaged", buf_text(&path));
        result = set_aside(p, buf_text(&path), e);
    }
    buf_free(&path);
    return result;
}

struct pack_source pack_source_source(struct packs *p)
{
    return (struct pack_source){ p, fetch };
}

/* Opens a user's file, wherever on the drive it lies. */
static struct share_input *open_in_place(struct packs *p, const char *path, uint64_t offset,
                                         struct err *e)
{
    if (p->drive == NULL)
        p->drive = share_open(p->access, p->at.drive, e);
    return p->drive == NULL ? NULL : share_open_input(p->drive, path, offset, e);
}

struct share_input *pack_source_open_file(struct packs *p, const struct pack_list *l,
                                          const char *path, struct err *e)
{
    char *on_share = path[0] == '\0' ? mem_strdup(l->path) : path_join(l->path, path);
    struct share_input *in = open_in_place(p, on_share, 0, e);

    free(on_share);
    return in;
}

struct share_input *pack_source_open_part(struct packs *p, const struct pack_list *l, struct err *e)
{
    struct buf path = { 0 };
    struct err why = { 0 };
    struct share_input *in;

    if (l->part.form == PACK_IN_PLACE)
        return open_in_place(p, l->path, l->offset, e);
    pack_part_path(&path, &l->part);
    in = share_open_input(p->dir, buf_text(&path), 0, &why);
    if (in == NULL && why.kind == ERR_NOT_FOUND)
        explain_missing(p, buf_text(&path), e);
    else if (in == NULL)
        err_set(e, why.kind, "%s", why.text);
    buf_free(&path);
    return in;
}
