/* SPDX-License-Identifier: MIT */
/* sql_text.c - the names of states in a statement, replaced by their numbers */
#include "server/db/sql_text.h"

#include <ctype.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/proto/states.h"

static const struct {
    const char *name;
    int number;
} numbers[] = {
#define X(constant, ...) { #constant, constant },
    ATTEMPT_STATES(X) JOB_STATES(X) SWEEP_STATES(X) CAUSES(X)
#undef X
        { "ATTEMPT_LAST_LIVE", ATTEMPT_LAST_LIVE },
    { "CANCEL_NOW", CANCEL_NOW },
};

static void add_job_states(struct buf *out, const char *format, bool only_ended)
{
    const char *between = "";

    for (int i = 0; i < JOB_STATE_COUNT; i++) {
        if (only_ended && !job_is_ended((enum job_state)i))
            continue;
        buf_add_str(out, between);
        if (only_ended)
            buf_printf(out, "%d", i);
        else
            buf_printf(out, "n_%s%s", job_state_names[i], format);
        between = ", ";
    }
}

static void add_word(struct buf *out, const char *word, size_t n)
{
    static const char over[] = "JOB_IS_OVER", counters[] = "JOB_COUNTERS",
                      set[] = "JOB_COUNTERS_SET";

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (strlen(numbers[i].name) == n && memcmp(numbers[i].name, word, n) == 0) {
            buf_printf(out, "%d", numbers[i].number);
            return;
        }
    if (n == sizeof over - 1 && memcmp(word, over, n) == 0)
        add_job_states(out, "", true);
    else if (n == sizeof counters - 1 && memcmp(word, counters, n) == 0)
        add_job_states(out, "", false);
    else if (n == sizeof set - 1 && memcmp(word, set, n) == 0)
        add_job_states(out, " = ?", false);
    else
        buf_add(out, word, n);
}

char *sql_text(const char *text)
{
    struct buf out = { 0 };

    while (*text != '\0') {
        size_t n = 0;

        while (isalnum((unsigned char)text[n]) || text[n] == '_')
            n++;
        if (n > 0)
            add_word(&out, text, n);
        else
            buf_add_char(&out, text[n++]);
        text += n;
    }
    return buf_take(&out);
}
