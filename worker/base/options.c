/* SPDX-License-Identifier: MIT */
/* options.c - the command line of ludwig-worker */

#include "worker/base/options.h"

#include <stdlib.h>
#include <string.h>

/* KillWait, unless the site has changed it. */
enum { KILL_WAIT_MS = 30 * 1000, IDLE_MS = 60 * 1000 };

/* "--config FILE" or "--config=FILE": how many words that is, 0: it is something else. */
static int take(char **words, const char *name, const char **value)
{
    size_t n = strlen(name);

    if (strncmp(words[0], name, n) != 0)
        return 0;
    *value = words[0][n] == '=' ? words[0] + n + 1 : words[1];
    return *value == NULL ? 0 : words[0][n] == '=' ? 1 : words[0][n] == '\0' ? 2 : 0;
}

static int take_ms(char **words, const char *name, int64_t *ms)
{
    const char *text;
    int n = take(words, name, &text);
    char *end;

    if (n == 0)
        return 0;
    *ms = strtoll(text, &end, 10);
    return *text == '\0' || *end != '\0' || *ms < 0 ? 0 : n;
}

static int take_token(char **words, const char *name, struct token *token)
{
    const char *text;
    int n = take(words, name, &text);

    return n == 0 || token_parse(text, token) < 0 || token_is_zero(token) ? 0 : n;
}

static int take_flag(char **words, const char *name, bool *flag)
{
    if (strcmp(words[0], name) != 0)
        return 0;
    *flag = true;
    return 1;
}

static int take_of_pilot(char **words, struct pilot_options *o)
{
    int n = take_token(words, "--pilot", &o->token);

    if (n == 0)
        n = take_ms(words, "--idle", &o->idle_ms);
    if (n == 0)
        n = take_ms(words, "--kill-wait", &o->kill_wait_ms);
    if (n == 0)
        n = take_flag(words, "--one-job", &o->takes_one);
    if (n == 0)
        n = take_ms(words, "--ends", &o->ends_at_ms);
    if (n == 0)
        n = take_ms(words, "--time", &o->time_ms);
    return n == 0 ? take_ms(words, "--submitted", &o->submitted_at_ms) : n;
}

const char *options_read(char **words, bool is_pilot, struct options *o)
{
    int n;

    *o = (struct options){
        .pilot = { .is_one = is_pilot, .idle_ms = IDLE_MS, .kill_wait_ms = KILL_WAIT_MS }
    };
    for (char **at = words; *at != NULL; at += n) {
        n = take(at, "--config", &o->conf_path);
        if (n == 0)
            n = take(at, "--server", &o->servers);
        if (n == 0 && is_pilot)
            n = take_of_pilot(at, &o->pilot);
        if (n == 0)
            return *at;
    }
    return NULL;
}
