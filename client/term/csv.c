/* SPDX-License-Identifier: MIT */
/* csv.c - writes comma-separated values */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/term/csv.h"
#include "client/term/output.h"
#include "client/term/safe_text.h"
#include "common/base/mem.h"
#include "common/data/json.h"
#include "common/proto/states.h"

void csv_add(struct buf *out, const char *text)
{
    if (text[strcspn(text, ",\"\r\n")] == '\0') {
        buf_add_str(out, text);
        return;
    }
    buf_add_char(out, '"');
    for (; *text != '\0'; text++) {
        if (*text == '"')
            buf_add_char(out, '"');
        buf_add_char(out, *text);
    }
    buf_add_char(out, '"');
}

void csv_next(struct buf *out, const char *text)
{
    buf_add_char(out, ',');
    csv_add(out, text);
}

void csv_next_number(struct buf *out, double x)
{
    buf_add_char(out, ',');
    if (!isnan(x))
        value_add_float(out, x);
}

void csv_next_value(struct buf *out, const struct value *v)
{
    struct buf text = { 0 };

    if (v != NULL)
        json_add_text(&text, v);
    csv_next(out, buf_text(&text));
    buf_free(&text);
}

void csv_next_param(struct buf *out, const char *name)
{
    static const char *const taken[] = { "param_name", "n",   "left", "reason", "jobs",
                                         "job",        "rep", "step", "value" };
    char *longer = mem_printf("params.%s", name);
    bool is_taken = false;

    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++)
        is_taken = is_taken || strcmp(name, taken[i]) == 0;
    for (int i = 0; i < JOB_STATE_COUNT; i++)
        is_taken =
            is_taken || (strcmp(name, job_state_names[i]) == 0 && job_is_ended((enum job_state)i) &&
                         !job_has_published((enum job_state)i));
    csv_next(out, is_taken ? longer : name);
    free(longer);
}

int csv_write(struct buf *out, struct err *e)
{
    if (output_is_terminal(STDOUT_FILENO))
        safe_text_clean(out, "\n");
    return output_write(out, e);
}
