/* SPDX-License-Identifier: MIT */
/* shell_env.c - variables of the shell that this program was started from, for jobs */
#include "client/util/shell_env.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/utf8.h"

const char shell_env_open_server[] = "from here the server is reached by files that others may "
                                     "read, so no variable of this shell can be passed";

int shell_env_read(const struct list *names, struct arena *a, struct list *entries, struct err *e)
{
    const char *const *items = names->items;
    struct env_entry *found = arena_alloc(a, (names->n + 1) * sizeof *found);

    for (size_t i = 0; i < names->n; i++) {
        const char *value = getenv(items[i]);

        if (strchr(items[i], '=') != NULL)
            return err_set(e, ERR_USAGE, "env: %.*s: name the variable alone, without a value",
                           (int)strcspn(items[i], "="), items[i]);
        if (jobspec_check_variable(items[i], e) < 0)
            return -1;
        if (value == NULL)
            return err_set(e, ERR_USAGE,
                           "env: %s is not set in this shell: `export %s=...` before, or take it "
                           "out of env:",
                           items[i], items[i]);
        if (strlen(value) > COMMAND_MAX_BYTES || utf8_valid(value, strlen(value)) < strlen(value))
            return err_set(e, ERR_USAGE,
                           "env: the value of %s is no UTF-8 text of at most %d bytes", items[i],
                           COMMAND_MAX_BYTES);
        found[i] = (struct env_entry){ items[i], value };
    }
    *entries = (struct list){ found, names->n };
    return 0;
}
