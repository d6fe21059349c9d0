/* SPDX-License-Identifier: MIT */
/* pack.c - names of what datasets consist of */
#include <string.h>

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
