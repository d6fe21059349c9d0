/* SPDX-License-Identifier: MIT */
/* jsonlist.c - writes {"v":1,"NAME":[...]} to stdout, in parts if the list is long */
#include <inttypes.h>

#include "client/term/jsonlist.h"
#include "client/term/output.h"

void jsonlist_begin(struct jsonlist *l, const char *name)
{
    *l = (struct jsonlist){ 0 };
    buf_printf(&l->out, "{\"v\":1,\"%s\":[", name);
}

void jsonlist_add(struct jsonlist *l, const struct schema *s, const void *item)
{
    buf_add_str(&l->out, l->n++ == 0 ? "\n" : ",\n");
    schema_add_json(s, item, &l->out);
}

int jsonlist_flush(struct jsonlist *l, struct err *e)
{
    return output_write(&l->out, e);
}

int jsonlist_end(struct jsonlist *l, struct err *e)
{
    buf_add_str(&l->out, l->n > 0 ? "\n]}\n" : "]}\n");
    return output_write(&l->out, e);
}

int jsonlist_end_with(struct jsonlist *l, const char *name, int64_t number, struct err *e)
{
    buf_printf(&l->out, "%s],\"%s\":%" PRId64 "}\n", l->n > 0 ? "\n" : "", name, number);
    return output_write(&l->out, e);
}

void jsonlist_add_list(struct jsonlist *l, const char *name, const struct schema *s,
                       const struct list *items)
{
    buf_printf(&l->out, "%s],\"%s\":[", l->n > 0 ? "\n" : "", name);
    l->n = 0;
    for (size_t i = 0; i < items->n; i++)
        jsonlist_add(l, s, (const char *)items->items + i * s->size);
}

void jsonlist_drop(struct jsonlist *l)
{
    buf_free(&l->out);
}

int jsonlist_write(const char *name, const struct schema *s, const struct list *items,
                   struct err *e)
{
    struct jsonlist l;

    jsonlist_begin(&l, name);
    for (size_t i = 0; i < items->n; i++)
        jsonlist_add(&l, s, (const char *)items->items + i * s->size);
    return jsonlist_end(&l, e);
}
