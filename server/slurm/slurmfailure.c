/* SPDX-License-Identifier: MIT */
/* slurmfailure.c - why a Slurm command failed, judged by what it printed */

#include "server/slurm/slurmfailure.h"

#include <string.h>

enum { WORDS_MAX_BYTES = 1000 };

static const struct {
    const char *text;
    enum slurm_failure failure;
} failures[] = {
#define X(text, failure, source) { text, failure },
    SLURM_FAILURES(X)
#undef X
};

static enum slurm_failure failure_said(const char *said)
{
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++)
        if (strstr(said, failures[i].text) != NULL)
            return failures[i].failure;
    return SLURM_UNCLEAR;
}

enum slurm_failure slurm_failure_of(const struct slurm_result *result)
{
    const enum slurm_failure said = failure_said(buf_text(&result->said));

    if (result->exit_code == 0 && !result->is_late && !result->is_too_long)
        return SLURM_WELL;
    if (result->is_late || result->is_too_long || result->exit_code < 0)
        return said == SLURM_NOT_NOW ? said : SLURM_AWAY;
    return said == SLURM_UNCLEAR && result->exit_code == SLURM_NO_COMMAND ? SLURM_NOT_HERE : said;
}

/* What follows "sbatch: error: " or the like in a line, as the command's name tells users nothing;
 * NULL: the line has no such head, as lines that a site's wrapper adds. */
static const char *behind_head(const char *line, size_t n)
{
    static const char *const heads[] = { "error: ", "fatal: " };

    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        const char *head = memmem(line, n, heads[i], strlen(heads[i]));

        if (head != NULL && memchr(line, '\'', (size_t)(head - line)) == NULL)
            return head + strlen(heads[i]);
    }
    return NULL;
}

/* Appends lines with "; " between: those that have a head, without it, or all of them. */
static void add_lines(struct buf *words, const char *said, bool with_head)
{
    while (*said != '\0') {
        const char *end = said + strcspn(said, "\n");
        const char *from = with_head ? behind_head(said, (size_t)(end - said)) : said;

        if (from != NULL && from < end && words->n > 0 && words->n <= WORDS_MAX_BYTES)
            buf_add_str(words, "; ");
        for (; from != NULL && from < end && words->n <= WORDS_MAX_BYTES; from++)
            buf_add_char(words, (unsigned char)*from < ' ' ? ' ' : *from);
        said = end + (*end == '\n');
    }
}

char *slurm_failure_words(const struct slurm_result *result, struct arena *a)
{
    struct buf words = { 0 };

    add_lines(&words, buf_text(&result->said), true);
    if (words.n == 0)
        add_lines(&words, buf_text(&result->said), false);
    if (words.n == 0)
        buf_add_str(&words, result->is_late         ? "it did not answer in time"
                            : result->is_too_long   ? "it said more than is read"
                            : result->exit_code < 0 ? "it was killed"
                                                    : "it failed without a word");
    return buf_to_arena(&words, a);
}
