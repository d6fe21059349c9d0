/* SPDX-License-Identifier: MIT */
/* man.c - the manual of ludwigd.yaml against the table of its keys */

#include "tests/unit/man.h"

#include <stdlib.h>

#include "server/base/conf.h"

static void the_manual_lists_every_key_and_no_other(void **state)
{
    char *page = man_read("ludwig-config.5");
    char *part = man_part(page, ".Sh LUDWIGD.YAML", ".Sh ", NULL);

    (void)state;
    man_check_keys(part, "Ic", conf_keys);
    free(part);
    free(page);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_manual_lists_every_key_and_no_other),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
