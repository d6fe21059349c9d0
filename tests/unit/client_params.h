/* SPDX-License-Identifier: MIT */
/*
 * client_params.h - reads the parameters in the text of a sweep file
 *
 * Include after cmocka.h.
 */
#ifndef LUDWIG_TESTS_UNIT_CLIENT_PARAMS_H
#define LUDWIG_TESTS_UNIT_CLIENT_PARAMS_H

#include <string.h>

#include "client/spec/params.h"
#include "common/data/json.h"

static const struct key params_keys[] = {
    { .name = "params", .type = KEY_CUSTOM, .offset = 0, .read = params_read },
    { .name = "debug", .type = KEY_CUSTOM, .offset = 0, .read = params_read_fixed },
    { .name = NULL },
};

/* Reads the keys params: and debug: of the text into params, which live in a.  Returns -1 with e
 * set if the text is wrong; errors call the file "f". */
static inline int params_parse(const char *text, struct arena *a, struct list *params,
                               struct err *e)
{
    struct yaml_keys_reader r = { .file = "f", .arena = a };
    const struct yaml_node *root = yaml_parse("f", text, strlen(text), a, e);

    *params = (struct list){ 0 };
    if (root == NULL)
        return -1;
    yaml_keys_read(&r, params_keys, root, params);
    return yaml_keys_end(&r, e);
}

/* Returns the parameter's values as a JSON list; the caller frees the text. */
static inline char *params_json(const struct param *param)
{
    struct buf json = { 0 };

    json_add_value(&json,
                   &(struct value){ .type = VALUE_LIST, .list = { param->values, param->n } });
    return buf_take(&json);
}

#endif
