/* SPDX-License-Identifier: MIT */
/* ui.c - fuzz: requests of a browser to `ludwig ui`: names of hosts, origins, changes */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "client/ui/action.h"
#include "client/ui/http.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A host is ours by one of two names, whatever stands behind it. */
static void check_host(const char *text)
{
    size_t n = strcspn(text, ":");

    if (!http_is_our_host(text))
        return;
    if (strncmp(text, "localhost", n) != 0 && strncmp(text, "127.0.0.1", n) != 0)
        abort();
    if (n != strlen("localhost") || strspn(text + n, ":0123456789") != strlen(text) - n)
        abort();
    if (http_is_our_origin(text, text))
        abort();
}

static void check_targets(const struct action *action)
{
    const struct target *items = action->targets.items;

    for (size_t i = 0; i < action->targets.n; i++) {
        if (items[i].sweep <= 0 || items[i].first > items[i].last)
            abort();
        if (i > 0 &&
            (items[i].sweep < items[i - 1].sweep ||
             (items[i].sweep == items[i - 1].sweep && items[i].first <= items[i - 1].last)))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *a = arena_create();
    struct action action;
    struct err e = { 0 };

    check_host(arena_strndup(a, (const char *)data, size));
    if (action_read((struct bytes){ data, size }, a, &action, &e) == 0) {
        check_targets(&action);
        if ((action.targets.n > 0) == (action.nodes.n > 0))
            abort();
        for (size_t i = 0; i < action.nodes.n; i++)
            if (((const char *const *)action.nodes.items)[i][0] == '\0')
                abort();
    } else if (e.kind != ERR_USAGE || e.text[0] == '\0') {
        abort();
    }
    arena_destroy(a);
    return 0;
}
