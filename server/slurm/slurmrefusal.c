/* SPDX-License-Identifier: MIT */
/* slurmrefusal.c - why a command of Slurm's failed: is it the user's to change, or does it pass */

#include "server/slurm/slurmrefusal.h"

#include <string.h>

enum { NO_COMMAND = 127, WORDS_MAX_BYTES = 1000 };

static const struct {
    const char *text;
    enum slurm_failure failure;
} failures[] = {
#define X(text, failure) { text, failure },
    SLURM_FAILURES(X)
#undef X
};

enum slurm_failure slurm_failure_of(const struct slurm_result *result)
{
    const char *said = buf_text(&result->said);

    if (result->is_late || result->is_too_long || result->exit_code < 0)
        return SLURM_AWAY;
    if (result->exit_code == 0)
        return SLURM_WELL;
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++)
        if (strstr(said, failures[i].text) != NULL)
            return failures[i].failure;
    return result->exit_code == NO_COMMAND ? SLURM_NOT_HERE : SLURM_AWAY;
}

/* "sbatch: error: " and "slurm_load_jobs error: " are for who knows which command it was. */
static const char *skip_head(const char *line, size_t n)
{
    static const char *const heads[] = { "error: ", "fatal: " };

    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        const char *head = memmem(line, n, heads[i], strlen(heads[i]));

        if (head != NULL && memchr(line, '\'', (size_t)(head - line)) == NULL)
            return head + strlen(heads[i]);
    }
    return line;
}

static void add_line(struct buf *words, const char *line, size_t n)
{
    const char *from = skip_head(line, n);

    n -= (size_t)(from - line);
    if (n == 0 || words->n > WORDS_MAX_BYTES)
        return;
    if (words->n > 0)
        buf_add_str(words, "; ");
    for (size_t i = 0; i < n && words->n <= WORDS_MAX_BYTES; i++)
        buf_add_char(words, (unsigned char)from[i] < ' ' ? ' ' : from[i]);
}

static const char *what_happened(const struct slurm_result *result)
{
    if (result->is_late)
        return "it did not answer in time";
    if (result->is_too_long)
        return "it said more than is read";
    return result->exit_code < 0 ? "it was killed" : "it failed without a word";
}

char *slurm_failure_words(const struct slurm_result *result, struct arena *a)
{
    const char *at = buf_text(&result->said);
    struct buf words = { 0 };
    char *text;

    while (*at != '\0') {
        size_t n = strcspn(at, "\n");

        add_line(&words, at, n);
        at += n + (at[n] == '\n');
    }
    text = arena_strdup(a, words.n > 0 ? buf_text(&words) : what_happened(result));
    buf_free(&words);
    return text;
}
