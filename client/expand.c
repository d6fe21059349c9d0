/* SPDX-License-Identifier: MIT */
/* expand.c - the configurations of a sweep, one after the other */
#include <stdlib.h>
#include <string.h>

#include "client/expand.h"
#include "client/params.h"
#include "common/mp.h"
#include "common/work.h"

/* What the protocol can count. */
static const int64_t CONFIGS_MAX = INT64_C(1) << 40;

/* "key: value" for each value of a parameter, encoded and behind one another. */
struct wheel {
    size_t *ends; /* of the pieces in the buffer */
    size_t n;
    size_t at; /* the piece whose turn it is */
    size_t begin;
};

struct expand {
    struct wheel *wheels;
    size_t n;
    struct buf pieces;
    struct buf head; /* the map's own bytes */
    int64_t count;
    int64_t next; /* number of the configuration that the wheels show */
};

static size_t add_wheel(struct expand *x, struct wheel *w, const struct param *param)
{
    size_t largest = 0;

    *w = (struct wheel){ .ends = mem_resize(NULL, param->n, sizeof *w->ends),
                         .n = param->n,
                         .begin = x->pieces.n };
    for (size_t i = 0; i < param->n; i++) {
        size_t begin = x->pieces.n;

        mp_add_str(&x->pieces, param->name, strlen(param->name));
        mp_add_value(&x->pieces, &param->values[i]);
        w->ends[i] = x->pieces.n;
        if (x->pieces.n - begin > largest)
            largest = x->pieces.n - begin;
    }
    return largest;
}

static int add_wheels(struct expand *x, const struct list *params, struct err *e)
{
    const struct param *items = params->items;
    size_t largest = x->head.n;

    x->count = 1;
    for (size_t i = 0; i < params->n; i++) {
        largest += add_wheel(x, &x->wheels[i], &items[i]);
        x->n++;
        if (__builtin_mul_overflow(x->count, (int64_t)items[i].n, &x->count) ||
            x->count > CONFIGS_MAX)
            return err_set(e, ERR_USAGE, "params: more than 2^40 configurations");
        if (largest > PARAM2VAL_MAX_BYTES)
            return err_set(e, ERR_USAGE,
                           "params: one configuration takes more than %d bytes; put large values "
                           "into a file of data:",
                           PARAM2VAL_MAX_BYTES);
    }
    return 0;
}

struct expand *expand_create(const struct list *params, struct err *e)
{
    struct expand *x = mem_alloc(sizeof *x);

    x->wheels = mem_alloc(params->n * sizeof *x->wheels);
    mp_add_map(&x->head, params->n);
    if (add_wheels(x, params, e) < 0) {
        expand_destroy(x);
        return NULL;
    }
    return x;
}

void expand_destroy(struct expand *x)
{
    if (x == NULL)
        return;
    for (size_t i = 0; i < x->n; i++)
        free(x->wheels[i].ends);
    free(x->wheels);
    buf_free(&x->pieces);
    buf_free(&x->head);
    free(x);
}

int64_t expand_count(const struct expand *x)
{
    return x->count;
}

void expand_seek(struct expand *x, int64_t index)
{
    x->next = index;
    for (size_t i = x->n; i-- > 0;) {
        x->wheels[i].at = (size_t)(index % (int64_t)x->wheels[i].n);
        index /= (int64_t)x->wheels[i].n;
    }
}

static void turn(struct expand *x)
{
    for (size_t i = x->n; i-- > 0;) {
        if (++x->wheels[i].at < x->wheels[i].n)
            return;
        x->wheels[i].at = 0;
    }
}

bool expand_next(struct expand *x, struct buf *out)
{
    if (x->next == x->count)
        return false;
    buf_add(out, x->head.bytes, x->head.n);
    for (size_t i = 0; i < x->n; i++) {
        const struct wheel *w = &x->wheels[i];
        size_t begin = w->at == 0 ? w->begin : w->ends[w->at - 1];

        buf_add(out, x->pieces.bytes + begin, w->ends[w->at] - begin);
    }
    x->next++;
    turn(x);
    return true;
}
