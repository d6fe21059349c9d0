/* SPDX-License-Identifier: MIT */
/* advice.c - fuzz: the lines that advisors write, and the points in them */

#include <string.h>

#include "server/search/record.h"
#include "server/search/space.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* What one can give in: a float, an int that exists only with a choice, a choice, a fixed one. */
static struct search make_space(struct arena *a)
{
    static struct value choices[3], fixed[1];
    struct space_param *p = arena_alloc(a, 4 * sizeof *p);
    struct member *when = arena_alloc(a, sizeof *when);

    choices[0] = value_str("adam");
    choices[1] = value_int(3);
    choices[2] = value_null();
    fixed[0] = value_int(7);
    *when = value_member("o", value_list(choices, 1));
    p[0] = (struct space_param){ .name = "x", .kind = SPACE_FLOAT, .low = 0, .high = 1 };
    p[1] = (struct space_param){ .name = "n", .kind = SPACE_INT, .first = -5, .last = 5 };
    p[1].when = value_map(a, when, 1);
    p[2] =
        (struct space_param){ .name = "o", .kind = SPACE_CHOICE, .values = value_list(choices, 3) };
    p[3] = (struct space_param){ .name = "f", .kind = SPACE_FIXED, .values = value_list(fixed, 1) };
    return (struct search){ .advisor = "a", .space = { p, 4 } };
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct arena *a = arena_create();
    const char *line = arena_strndup(a, (const char *)data, n);
    struct search s = make_space(a);
    struct record r = { 0 };
    struct err e = { 0 };
    struct said said;

    for (int dir = 0; dir < ADVICE_DIR_COUNT; dir++) {
        record_add(&r, &(struct advice_line){ dir + 1, dir, line });
        (void)record_is_passed(&r, &(struct advice_line){ dir + 1, dir, line });
    }
    if (record_read(line, a, &said, &e) == 0 && said.type == SAID_GIVE)
        for (size_t i = 0; i < said.points.list.n; i++) {
            struct value config;
            int64_t from;

            if (space_take(&s, &said.points.list.items[i], a, &config, &from, &e) == 0 &&
                (config.type != VALUE_MAP || value_get(&config, "x") == NULL ||
                 value_get(&config, "x")->f < 0 || value_get(&config, "x")->f > 1))
                __builtin_trap();
        }
    arena_destroy(a);
    return 0;
}
