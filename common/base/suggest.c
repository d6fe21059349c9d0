/* SPDX-License-Identifier: MIT */
/* suggest.c - "did you mean": the nearest known word */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/base/suggest.h"

/* Longer words are not compared, as comparing takes the product of both lengths. */
enum { WORD_MAX_BYTES = 256 };

/* A word that is cut short, as mem for memory, is worth two slips of the finger. */
enum { CUT_MIN_BYTES = 3, CUT_DISTANCE = 2 };

static size_t smaller(size_t x, size_t y)
{
    return x < y ? x : y;
}

size_t suggest_distance(const char *x, const char *y)
{
    size_t m = strlen(x), n = strlen(y);
    size_t *rows = mem_resize(NULL, 3 * (n + 1), sizeof *rows);
    size_t *before_last = rows, *last = rows + n + 1, *row = rows + 2 * (n + 1);
    size_t distance;

    /* Row i has the distances between the first i bytes of x and each beginning of y. */
    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 1; i <= m; i++) {
        size_t *oldest = before_last;

        before_last = last;
        last = row;
        row = oldest;
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t replaced = last[j - 1] + (x[i - 1] != y[j - 1]);

            row[j] = smaller(replaced, 1 + smaller(last[j], row[j - 1]));
            if (i > 1 && j > 1 && x[i - 1] == y[j - 2] && x[i - 2] == y[j - 1])
                row[j] = smaller(row[j], before_last[j - 2] + 1);
        }
    }
    distance = row[n];
    free(rows);
    return distance;
}

void suggest_try(struct suggest *s, const char *candidate)
{
    size_t m = strlen(s->word), n = strlen(candidate);
    size_t longer = m > n ? m : n;
    size_t near = (longer + 2) / 3; /* one slip in three letters */
    bool is_cut = m >= CUT_MIN_BYTES && m + 1 < n && strncmp(s->word, candidate, m) == 0;
    size_t distance = CUT_DISTANCE;

    if (longer > WORD_MAX_BYTES || (!is_cut && longer - smaller(m, n) > near))
        return;
    if (!is_cut)
        distance = suggest_distance(s->word, candidate);
    /* A candidate that differs in half of its letters is another word. */
    if (!is_cut &&
        (distance > near || distance >= longer || (distance > 1 && 2 * distance >= longer)))
        return;
    if (s->best == NULL || distance < s->distance) {
        s->best = candidate;
        s->distance = distance;
    }
}
