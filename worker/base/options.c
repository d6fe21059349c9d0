/* SPDX-License-Identifier: MIT */
/* options.c - the command line of ludwig-worker */

#include "worker/base/options.h"

#include <stdlib.h>
#include <string.h>

/* KILL_WAIT_MS is Slurm's default of KillWait. */
enum { KILL_WAIT_MS = 30 * 1000, IDLE_MS = 60 * 1000 };

/* Takes "--name VALUE" or "--name=VALUE"; returns how many words that is, 0: it is another one. */
static int take_option(char **words, const char *name, const char **value)
{
    size_t n = strlen(name);

    if (strncmp(words[0], name, n) != 0)
        return 0;
    *value = words[0][n] == '=' ? words[0] + n + 1 : words[1];
    return *value == NULL ? 0 : words[0][n] == '=' ? 1 : words[0][n] == '\0' ? 2 : 0;
}

/* The options of a pilot, and the members of struct pilot_options for their values. */
enum option_kind { OPTION_MS, OPTION_TOKEN, OPTION_FLAG };
static const struct {
    const char *name;
    enum option_kind kind;
    size_t offset;
} pilot_rows[] = {
    { "--pilot", OPTION_TOKEN, offsetof(struct pilot_options, token) },
    { "--idle", OPTION_MS, offsetof(struct pilot_options, idle_ms) },
    { "--kill-wait", OPTION_MS, offsetof(struct pilot_options, kill_wait_ms) },
    { "--one-job", OPTION_FLAG, offsetof(struct pilot_options, takes_one) },
    { "--ends", OPTION_MS, offsetof(struct pilot_options, ends_at_ms) },
    { "--time", OPTION_MS, offsetof(struct pilot_options, time_ms) },
    { "--submitted", OPTION_MS, offsetof(struct pilot_options, submitted_at_ms) },
};

static int take_of_pilot(char **words, struct pilot_options *o)
{
    for (size_t i = 0; i < sizeof pilot_rows / sizeof pilot_rows[0]; i++) {
        void *to = (char *)o + pilot_rows[i].offset;
        const char *text;
        char *end;
        int n;

        if (pilot_rows[i].kind == OPTION_FLAG) {
            if (strcmp(words[0], pilot_rows[i].name) != 0)
                continue;
            *(bool *)to = true;
            return 1;
        }
        n = take_option(words, pilot_rows[i].name, &text);
        if (n == 0)
            continue;
        if (pilot_rows[i].kind == OPTION_TOKEN)
            return token_parse(text, to) < 0 || token_is_zero(to) ? 0 : n;
        *(int64_t *)to = strtoll(text, &end, 10);
        return *text == '\0' || *end != '\0' || *(int64_t *)to < 0 ? 0 : n;
    }
    return 0;
}

const char *options_read(char **words, bool is_pilot, struct options *o)
{
    int n;

    *o = (struct options){
        .pilot = { .is_one = is_pilot, .idle_ms = IDLE_MS, .kill_wait_ms = KILL_WAIT_MS }
    };
    for (char **at = words; *at != NULL; at += n) {
        n = take_option(at, "--config", &o->conf_path);
        if (n == 0)
            n = take_option(at, "--server", &o->servers);
        if (n == 0 && is_pilot)
            n = take_of_pilot(at, &o->pilot);
        if (n == 0)
            return *at;
    }
    return NULL;
}
