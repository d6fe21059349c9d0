/* SPDX-License-Identifier: MIT */
/* checkpoint_list.c - the checkpoints of a job that lie on the share */

#include "worker/saved/checkpoint_list.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/proto/layout.h"

/* ---- names ---- */

void checkpoint_list_add_name(struct buf *out, const char *job_name,
                              const struct checkpoint_list *k)
{
    buf_printf(out, "%s.a%" PRId64, job_name, k->attempt);
    if (k->number != CHECKPOINT_LIST_AT_END)
        buf_printf(out, ".%" PRId64, k->number);
}

void checkpoint_list_add_temporary(struct buf *out, const char *job_name, int64_t attempt,
                                   const struct token *token)
{
    const struct checkpoint_list last = { attempt, CHECKPOINT_LIST_AT_END };
    struct buf name = { 0 };

    checkpoint_list_add_name(&name, job_name, &last);
    layout_temporary(out, buf_text(&name), token);
    buf_free(&name);
}

int checkpoint_list_compare(const struct checkpoint_list *x, const struct checkpoint_list *y)
{
    if (x->attempt != y->attempt)
        return x->attempt < y->attempt ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Digits only: returns where they end, NULL unless there are some. */
static const char *read_number(const char *at, int64_t *number)
{
    const char *end = at + strspn(at, "0123456789");

    if (end == at || end - at > 18)
        return NULL;
    *number = strtoll(at, NULL, 10);
    return end;
}

/* "NAME.a2.5": returns what comes behind, NULL when it is no such name. */
static const char *read_name(const char *name, const char *job_name, struct checkpoint_list *k)
{
    size_t n = strlen(job_name);
    const char *at, *end;

    if (strncmp(name, job_name, n) != 0 || strncmp(name + n, ".a", 2) != 0)
        return NULL;
    at = read_number(name + n + 2, &k->attempt);
    if (at == NULL)
        return NULL;
    k->number = CHECKPOINT_LIST_AT_END;
    /* A token may begin with digits as well. */
    if (*at == '.' && (end = read_number(at + 1, &k->number)) != NULL &&
        (*end == '\0' || *end == '.'))
        return end;
    k->number = CHECKPOINT_LIST_AT_END;
    return at;
}

static bool read_kept(const char *name, const char *job_name, struct checkpoint_list *k)
{
    const char *rest = read_name(name, job_name, k);

    return rest != NULL && *rest == '\0';
}

/* On its way, or being removed. */
static bool read_hidden(const char *name, const char *job_name, struct checkpoint_list *k)
{
    const char *rest = name[0] == '.' ? read_name(name + 1, job_name, k) : NULL;
    struct token token;

    return rest != NULL && *rest == '.' && token_parse(rest + 1, &token) == 0;
}

/* ---- looking through the folder ---- */

struct looking {
    const char *job_name;
    const struct checkpoint_list *up_to;
    struct checkpoint_list *newest;
    int found;
};

static void look_at(void *context, const char *name)
{
    struct looking *l = context;
    struct checkpoint_list k;

    if (read_kept(name, l->job_name, &k) && checkpoint_list_compare(&k, l->up_to) <= 0 &&
        (l->found == 0 || checkpoint_list_compare(&k, l->newest) > 0)) {
        *l->newest = k;
        l->found = 1;
    }
}

int checkpoint_list_newest(const struct share_dir *d, const char *job_name,
                           const struct checkpoint_list *up_to, struct checkpoint_list *newest,
                           struct err *e)
{
    struct looking l = { job_name, up_to, newest, 0 };

    if (share_list(d, look_at, &l, e) < 0)
        return err_wrap(e, "the checkpoints");
    return l.found;
}

/* ---- removing ---- */

/* It loses its name first, so that nobody takes half of it for the whole. */
static int remove_kept(const struct share_dir *d, const char *job_name,
                       const struct checkpoint_list *k, const char *token_hex, struct err *e)
{
    struct buf name = { 0 };
    struct err why = { 0 };
    char *doomed;
    int result = 0;

    checkpoint_list_add_name(&name, job_name, k);
    doomed = mem_printf(".%s.a%" PRId64 ".%" PRId64 ".%s", job_name, k->attempt,
                        k->number == CHECKPOINT_LIST_AT_END ? 0 : k->number, token_hex);
    if (share_remove_tree(d, doomed, e) < 0)
        result = -1;
    else if (share_rename(d, buf_text(&name), d, doomed, &why) == 0)
        result = share_remove_tree(d, doomed, e);
    else if (why.kind != ERR_NOT_FOUND)
        result = err_set(e, why.kind, "%s", why.text);
    buf_free(&name);
    free(doomed);
    return result;
}

/* What is to go. */
struct doom {
    const struct share_dir *dir;
    const char *job_name;
    const struct checkpoint_list *older_than; /* NULL: all */
    int64_t attempt;                          /* what those up to this one left half-made */
    const char *token_hex;
    struct err *e;
    int result;
};

static int remove_entry(const struct doom *d, const char *name)
{
    struct checkpoint_list k;

    if (read_kept(name, d->job_name, &k))
        return d->older_than == NULL || checkpoint_list_compare(&k, d->older_than) < 0
                   ? remove_kept(d->dir, d->job_name, &k, d->token_hex, d->e)
                   : 0;
    if (read_hidden(name, d->job_name, &k) && k.attempt <= d->attempt)
        return share_remove_tree(d->dir, name, d->e);
    return 0;
}

static void remove_some(void *context, const char *name)
{
    struct doom *d = context;

    if (remove_entry(d, name) < 0)
        d->result = -1;
}

int checkpoint_list_remove_older(const struct share_dir *d, const char *job_name,
                                 const struct checkpoint_list *than, int64_t attempt,
                                 const char *token_hex, struct err *e)
{
    struct doom doom = { d, job_name, than, attempt, token_hex, e, 0 };

    return share_list(d, remove_some, &doom, e) < 0 ? -1 : doom.result;
}

int checkpoint_list_remove_all(const struct share_dir *d, const char *job_name,
                               const char *token_hex, struct err *e)
{
    struct doom doom = { d, job_name, NULL, INT64_MAX, token_hex, e, 0 };

    return share_list(d, remove_some, &doom, e) < 0 ? -1 : doom.result;
}

/* ---- naming ---- */

int checkpoint_list_name(const struct share_dir *d, const char *temporary, const char *job_name,
                         const struct checkpoint_list *as, const char *token_hex, struct err *e)
{
    struct buf name = { 0 };
    struct err why = { 0 };
    int result;

    checkpoint_list_add_name(&name, job_name, as);
    result = share_rename(d, temporary, d, buf_text(&name), &why);
    if (result < 0 && why.kind != ERR_EXISTS)
        err_set(e, why.kind, "%s", why.text);
    else if (result < 0 && remove_kept(d, job_name, as, token_hex, e) == 0)
        result = share_rename(d, temporary, d, buf_text(&name), e);
    buf_free(&name);
    return result;
}
