/* SPDX-License-Identifier: MIT */
/* slurmtext.c - the forms in which Slurm writes rows, numbers, times and sets */

#include "server/slurm/slurmtext.h"

#include <string.h>
#include <strings.h>

#define LARGEST ((int64_t)1 << 53)

void slurm_rows_begin(struct slurm_rows *r, const char *text, size_t n, char separator,
                      size_t n_cells)
{
    *r = (struct slurm_rows){
        .at = text, .end = text + n, .separator = separator, .n_cells = n_cells
    };
}

static size_t count_cells(const char *line, size_t n, char separator)
{
    size_t cells = 1;

    for (size_t i = 0; i < n; i++)
        cells += line[i] == separator;
    return cells;
}

static void cut_cells(struct slurm_rows *r, const char *line, size_t n, struct arena *a)
{
    const char *end = line + n;

    for (size_t i = 0; i < r->n_cells; i++) {
        const char *stop = memchr(line, r->separator, (size_t)(end - line));

        if (stop == NULL)
            stop = end;
        r->cells[i] = arena_strndup(a, line, (size_t)(stop - line));
        line = stop == end ? end : stop + 1;
    }
}

bool slurm_rows_next(struct slurm_rows *r, struct arena *a)
{
    while (r->at < r->end) {
        const char *line = r->at;
        const char *stop = memchr(line, '\n', (size_t)(r->end - line));
        size_t n = (size_t)((stop == NULL ? r->end : stop) - line);

        r->at = stop == NULL ? r->end : stop + 1;
        if (n == 0)
            continue;
        if (count_cells(line, n, r->separator) == r->n_cells && memchr(line, '\0', n) == NULL) {
            cut_cells(r, line, n, a);
            return true;
        }
        r->n_passed_over++;
    }
    return false;
}

char *slurm_value(const char *line, size_t n, const char *key, struct arena *a)
{
    const char *end = line + n;
    size_t length = strlen(key);

    while (line < end) {
        const char *stop = memchr(line, ' ', (size_t)(end - line));

        if (stop == NULL)
            stop = end;
        if ((size_t)(stop - line) > length && strncmp(line, key, length) == 0 &&
            line[length] == '=')
            return arena_strndup(a, line + length + 1, (size_t)(stop - line) - length - 1);
        line = stop == end ? end : stop + 1;
    }
    return NULL;
}

bool slurm_is_none(const char *text)
{
    static const char *const names[] = { "",        "N/A",       "NONE",     "(null)",
                                         "Unknown", "UNLIMITED", "INFINITE", "NOT_SET" };

    for (size_t i = 0; text != NULL && i < sizeof names / sizeof *names; i++)
        if (strcasecmp(text, names[i]) == 0)
            return true;
    return text == NULL;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Digits up to what is none, which *at is then; SLURM_NONE where there are none, or too many. */
static int64_t take_digits(const char **at)
{
    int64_t number = 0;

    if (!is_digit(**at))
        return SLURM_NONE;
    for (; is_digit(**at); (*at)++) {
        if (number > LARGEST / 10)
            return SLURM_NONE;
        number = number * 10 + (**at - '0');
    }
    return number > LARGEST ? SLURM_NONE : number;
}

static int64_t times(int64_t number, int64_t factor)
{
    return number == SLURM_NONE || number > LARGEST / factor ? SLURM_NONE : number * factor;
}

int64_t slurm_number(const char *text)
{
    const char *at = text == NULL ? "" : text;
    int64_t number = take_digits(&at);

    if (*at == 'K' || *at == 'M' || *at == 'G') {
        int power = *at == 'K' ? 10 : *at == 'M' ? 20 : 30;

        number = times(number, (int64_t)1 << power);
        at++;
    }
    if (*at == '+')
        at++;
    return *at == '\0' || *at == ' ' ? number : SLURM_NONE;
}

/* Up to three numbers between colons; how many, 0 when there is anything else. */
static int take_clock(const char *at, int64_t *parts)
{
    for (int n = 0; n < 3; n++) {
        parts[n] = take_digits(&at);
        if (parts[n] == SLURM_NONE)
            return 0;
        if (*at == '\0')
            return n + 1;
        if (*at++ != ':')
            return 0;
    }
    return 0;
}

/* Seconds that each part counts: with days it begins with the hours, else it ends with seconds,
 * unless it is one number, which is minutes. */
static int64_t clock_seconds(const int64_t *parts, int n, bool has_days)
{
    static const int64_t worth[] = { 3600, 60, 1 };
    int first = has_days || n == 3 ? 0 : 1;
    int64_t seconds = 0;

    for (int i = 0; i < n; i++) {
        int64_t part = times(parts[i], worth[first + i]);

        if (part == SLURM_NONE)
            return SLURM_NONE;
        seconds += part;
    }
    return seconds;
}

int64_t slurm_time_ms(const char *text)
{
    const char *dash = text == NULL ? NULL : strchr(text, '-');
    const char *at = text;
    int64_t days = 0, parts[3], seconds;
    int n;

    if (text == NULL)
        return SLURM_NONE;
    if (dash != NULL) {
        days = times(take_digits(&at), 86400);
        if (at != dash || days == SLURM_NONE)
            return SLURM_NONE;
        at++;
    }
    n = take_clock(at, parts);
    seconds = n == 0 ? SLURM_NONE : clock_seconds(parts, n, dash != NULL);
    return seconds == SLURM_NONE ? SLURM_NONE : times(days + seconds, 1000);
}

struct range {
    int64_t first, last, step;
};

/* "7", "7-11", "7-11:2" and the comma behind it. */
static bool take_range(const char **at, struct range *r)
{
    r->first = r->last = take_digits(at);
    r->step = 1;
    if (r->first != SLURM_NONE && **at == '-') {
        (*at)++;
        r->last = take_digits(at);
    }
    if (**at == ':') {
        (*at)++;
        r->step = take_digits(at);
    }
    if (r->first == SLURM_NONE || r->last < r->first || r->step < 1)
        return false;
    *at += **at == ',';
    return true;
}

static const char *set_begin(const char *set)
{
    return set == NULL ? "" : set + (*set == '[');
}

int64_t slurm_set_count(const char *set)
{
    const char *at = set_begin(set);
    struct range r;
    int64_t count = 0;

    while (take_range(&at, &r) && count < LARGEST)
        count += (r.last - r.first) / r.step + 1;
    return *at == '\0' || *at == '%' || *at == ']' ? count : 0;
}

bool slurm_set_has(const char *set, int64_t index)
{
    const char *at = set_begin(set);
    struct range r;

    while (take_range(&at, &r))
        if (index >= r.first && index <= r.last && (index - r.first) % r.step == 0)
            return true;
    return false;
}

/* Behind "gpu": ":8", ":a40:8", or nothing, which is one; what is in parentheses says where they are. */
static int64_t gpus_of(const char *at, size_t n)
{
    const char *colon = memrchr(at, ':', n);
    int64_t number;

    if (n == 0)
        return 1;
    if (*at != ':')
        return 0;
    colon++;
    number = take_digits(&colon);
    return number == SLURM_NONE ? 1 : number;
}

int64_t slurm_gres_gpus(const char *gres)
{
    const char *at = gres == NULL ? "" : gres;
    int64_t count = 0;

    while (*at != '\0' && count < LARGEST) {
        size_t name = strcspn(at, "(,");

        if (name >= 3 && strncmp(at, "gpu", 3) == 0)
            count += gpus_of(at + 3, name - 3);
        at += name;
        if (*at == '(')
            at += strcspn(at, ")");
        at += strcspn(at, ",");
        at += *at == ',';
    }
    return count;
}

bool slurm_list_has(const char *list, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = list; at != NULL && *at != '\0';) {
        size_t n = strcspn(at, ",");

        if ((n == length && strncmp(at, word, n) == 0) || (n == 3 && strncmp(at, "ALL", n) == 0))
            return true;
        at += n + (at[n] == ',');
    }
    return false;
}

int64_t slurm_tres(const char *tres, const char *name)
{
    size_t n = strlen(name);

    while (tres != NULL && *tres != '\0') {
        size_t length = strcspn(tres, ",");

        if (length > n && length - n <= 24 && strncmp(tres, name, n) == 0 && tres[n] == '=') {
            char number[32] = { 0 };

            memcpy(number, tres + n + 1, length - n - 1);
            return slurm_number(number);
        }
        tres += length + (tres[length] == ',');
    }
    return SLURM_NONE;
}
