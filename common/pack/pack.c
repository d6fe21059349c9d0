/* SPDX-License-Identifier: MIT */
/* pack.c - names of a dataset's objects, and paths in its tree */
#include <string.h>

#include "common/base/path.h"
#include "common/pack/pack.h"

static const struct {
    const char *folder, *suffix;
    size_t max_bytes;
} objects[PACK_OBJECT_COUNT] = {
    [PACK_MANIFEST] = { "", ".manifest", PACK_MANIFEST_BYTES_MAX },
    [PACK_BLOCK] = { "blocks/", ".block", PACK_BLOCK_BYTES_MAX },
    [PACK_LIST] = { "parts/", ".list", PACK_LIST_BYTES_MAX },
};

const char *const pack_form_names[PACK_FORM_COUNT] = {
#define X(name, text) [name] = text,
    PACK_FORMS(X)
#undef X
};

size_t pack_object_max(enum pack_object kind)
{
    return objects[kind].max_bytes;
}

void pack_object_path(struct buf *out, enum pack_object kind, const struct digest *name)
{
    char hex[DIGEST_HEX];

    digest_hex(name, hex);
    buf_printf(out, "%s%s%s", objects[kind].folder, hex, objects[kind].suffix);
}

bool pack_is_stored(enum pack_form form)
{
    return form != PACK_IN_PLACE && form != PACK_FILES;
}

void pack_part_path(struct buf *out, const struct pack_part *part)
{
    char hex[DIGEST_HEX];

    digest_hex(&part->list, hex);
    buf_printf(out, "parts/%s.%s", hex, pack_form_names[part->form]);
}

const char *pack_name_ending(const char *name, struct digest *d)
{
    char hex[DIGEST_HEX];

    if (strlen(name) < DIGEST_HEX || name[DIGEST_HEX - 1] != '.')
        return NULL;
    memcpy(hex, name, DIGEST_HEX - 1);
    hex[DIGEST_HEX - 1] = '\0';
    return digest_parse(hex, d) == 0 ? name + DIGEST_HEX - 1 : NULL;
}

bool pack_ending_is_of(const char *ending, enum pack_object kind)
{
    return strcmp(ending, objects[kind].suffix) == 0;
}

bool pack_ending_is_part(const char *ending)
{
    for (enum pack_form form = 0; form < PACK_FORM_COUNT; form++)
        if (pack_is_stored(form) && strcmp(ending + 1, pack_form_names[form]) == 0)
            return true;
    return false;
}

/* ---- paths ---- */

/* Orders the end of a path before all bytes, and the slash before all other bytes. */
static unsigned rank(char c)
{
    return c == '\0' ? 0 : c == '/' ? 1 : (unsigned)(unsigned char)c + 2;
}

int pack_path_compare(const char *x, const char *y)
{
    unsigned a, b;

    while (*x == *y && *x != '\0') {
        x++;
        y++;
    }
    a = rank(*x);
    b = rank(*y);
    return (a > b) - (a < b);
}

int pack_path_check(const char *path, size_t n, struct err *e)
{
    bool is_long = n > PACK_PATH_MAX;

    for (const char *name = path; *name != '\0' && !is_long; name += strspn(name, "/")) {
        size_t length = strcspn(name, "/");

        is_long = length > PACK_NAME_MAX;
        name += length;
    }
    if (is_long)
        return err_set(e, ERR_PROTOCOL, "a path is too long: %.200s...", path);
    if (memchr(path, '\0', n) != NULL)
        return err_set(e, ERR_PROTOCOL, "a path has a NUL in it: %.200s", path);
    if (!path_is_inside(path))
        return err_set(e, ERR_PROTOCOL, "not a path below the tree: \"%.200s\"", path);
    return 0;
}
