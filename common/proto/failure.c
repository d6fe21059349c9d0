/* SPDX-License-Identifier: MIT */
/* failure.c - the cause of a failure, normalised */

#include "common/proto/failure.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "common/base/utf8.h"
#include "common/data/schema.h"

/* A word of this many hex digits or more with a decimal digit among them counts as a number: it is
 * a digest or an id. */
enum { HEX_WORD_MIN = 8 };

bool failure_is_own(enum cause cause)
{
    switch (cause) {
    case CAUSE_FAILED:
    case CAUSE_SIGNAL:
    case CAUSE_OOM:
    case CAUSE_TIMEOUT:
    case CAUSE_NAN: return true;
    default: return false;
    }
}

/* ---- the words that the runner puts around the error line ---- */

/* The rest of `at` behind text; NULL: it does not begin with text, or is NULL. */
static const char *skip(const char *at, const char *text)
{
    size_t n = strlen(text);

    return at != NULL && strncmp(at, text, n) == 0 ? at + n : NULL;
}

/* The error line in the reason: "ValueError: ..." of "exit code 1: ValueError: ..." and of "exit
 * code 1; memory ran out ...: ...".  "" if there is no error line; the whole reason if it begins in
 * another way. */
static const char *error_line(const struct failure *f)
{
    const char *reason = f->reason != NULL ? f->reason : "";
    const char *at =
        f->cause == CAUSE_SIGNAL ? skip(reason, "killed by signal ") : skip(reason, "exit code ");
    const char *line;

    if (at == NULL)
        return reason;
    line = strstr(at, ": ");
    return line != NULL ? line + 2 : "";
}

/* Whether the line of the reason is the log's last, which may be no error at all. */
static bool is_last_line(const struct failure *f, const char *line)
{
    static const char words[] = FAILURE_LAST_LINE ": ";
    size_t n = sizeof words - 1;

    return line[0] != '\0' && (size_t)(line - f->reason) >= n && memcmp(line - n, words, n) == 0;
}

/* The signal's name in the reason: "Segmentation fault" of "killed by signal 11 (Segmentation
 * fault)". */
static struct bytes signal_words(const struct failure *f)
{
    const char *at = skip(f->reason, "killed by signal ");
    const char *words = at != NULL ? skip(at + strspn(at, "0123456789"), " (") : NULL;
    const char *end = words != NULL ? strchr(words, ')') : NULL;
    struct bytes found = { 0 };

    if (end != NULL)
        found = (struct bytes){ (const uint8_t *)words, (size_t)(end - words) };
    return found;
}

/* The line's length without ", after 3 tries" at its end, which differs from job to job. */
static size_t line_length(const char *line)
{
    static const char tries[] = " tries", after[] = ", after ";
    size_t n = strlen(line), i;

    if (n < sizeof tries - 1 || strcmp(line + n - (sizeof tries - 1), tries) != 0)
        return n;
    for (i = n - (sizeof tries - 1); i > 0 && isdigit((unsigned char)line[i - 1]);)
        i--;
    if (i < sizeof after - 1 ||
        strncmp(line + i - (sizeof after - 1), after, sizeof after - 1) != 0)
        return n;
    return i - (sizeof after - 1);
}

/* ---- normalising ---- */

static bool is_word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

static bool ends_path(char c)
{
    return isspace((unsigned char)c) || strchr("'\"`()[]{}<>,;:=|", c) != NULL;
}

/* The length of a path's folders, which differ from job to job: of "/tmp/j7/" in
 * "/tmp/j7/train.csv".  0: no path begins here. */
static size_t folder_length(const char *at, size_t n)
{
    size_t length = 0, n_slashes = 0, last = 0;

    while (length < n && !ends_path(at[length])) {
        if (at[length] == '/') {
            n_slashes++;
            last = length + 1;
        }
        length++;
    }
    if (n_slashes == 0 || length == 1 || (n_slashes == 1 && strchr("/.~", at[0]) == NULL))
        return 0;
    return last;
}

/* The length of a number at `at`: 12, 0.25, 1e-05, 0x7f3a, 3fa9c81e; 0: none begins there. */
static size_t number_length(const char *at, size_t n, bool begins_word)
{
    size_t i = 0, hex = 0, digits = 0;

    if (begins_word) {
        while (hex < n && isxdigit((unsigned char)at[hex]))
            digits += isdigit((unsigned char)at[hex++]) != 0;
        if (hex >= HEX_WORD_MIN && digits > 0 && (hex == n || !is_word_char(at[hex])))
            return hex;
        if (n > 2 && at[0] == '0' && (at[1] == 'x' || at[1] == 'X') &&
            isxdigit((unsigned char)at[2])) {
            for (i = 2; i < n && isxdigit((unsigned char)at[i]);)
                i++;
            return i;
        }
    }
    while (i < n && isdigit((unsigned char)at[i]))
        i++;
    if (i == 0)
        return 0;
    while (i + 1 < n && at[i] == '.' && isdigit((unsigned char)at[i + 1]))
        for (i++; i < n && isdigit((unsigned char)at[i]);)
            i++;
    if (i + 1 < n && (at[i] == 'e' || at[i] == 'E')) {
        size_t sign = at[i + 1] == '-' || at[i + 1] == '+';

        if (i + 1 + sign < n && isdigit((unsigned char)at[i + 1 + sign]))
            for (i += 1 + sign; i < n && isdigit((unsigned char)at[i]);)
                i++;
    }
    return i;
}

/* Whether a sign that belongs to a number stands at `at`.  A minus within a word, as in "utf-8",
 * does not. */
static bool is_sign(const char *at, size_t n, char before)
{
    return (at[0] == '-' || at[0] == '+') && n > 1 && isdigit((unsigned char)at[1]) &&
           !is_word_char(before) && before != '-';
}

/* Appends the line with "N" for each number and ".../" for the folders of each path. */
static void add_normalised(struct buf *out, const char *line, size_t n)
{
    char before = ' ';

    for (size_t i = 0; i < n;) {
        bool begins_word = !is_word_char(before);
        size_t sign = is_sign(line + i, n - i, before);
        size_t folder = sign == 0 && begins_word && before != '.' && before != '/'
                            ? folder_length(line + i, n - i)
                            : 0;
        size_t number = number_length(line + i + sign, n - i - sign, begins_word);

        if (folder > 0) {
            buf_add_str(out, ".../");
            i += folder;
            before = '/';
        } else if (number > 0) {
            buf_add_char(out, 'N');
            i += sign + number;
            before = 'N';
        } else if (isspace((unsigned char)line[i])) {
            if (before != ' ')
                buf_add_char(out, ' ');
            before = ' ';
            i++;
        } else {
            before = line[i++];
            buf_add_char(out, before);
        }
    }
}

/* ---- the name ---- */

static void add_cause(struct buf *out, const struct failure *f, bool is_normalised)
{
    const char *line = error_line(f);
    size_t n = line_length(line), begin = out->n;
    struct bytes words;

    switch (f->cause) {
    case CAUSE_OOM: buf_add_str(out, "out of memory"); return;
    case CAUSE_TIMEOUT: buf_add_str(out, "time limit reached"); return;
    case CAUSE_NAN: buf_add_str(out, "its metric was nan or infinite"); return;
    case CAUSE_SIGNAL:
        words = signal_words(f);
        buf_printf(out, "signal %" PRId64, f->signal != SCHEMA_NONE ? f->signal : 0);
        if (words.n > 0)
            buf_printf(out, " (%.*s)", (int)words.n, (const char *)words.data);
        break;
    case CAUSE_FAILED:
        if (f->exit_code > 0 && (f->exit_code != 1 || n == 0))
            buf_printf(out, "exit code %" PRId64, f->exit_code);
        break;
    default: break;
    }
    if (n > 0 && out->n > begin)
        buf_add_str(out, ": ");
    if (is_normalised && !is_last_line(f, line))
        add_normalised(out, line, n);
    else
        buf_add(out, line, n);
    if (out->n == begin)
        buf_add_str(out, cause_names[f->cause]);
    if (out->n - begin > FAILURE_NAME_MAX_BYTES) {
        out->n = begin + utf8_cut((const char *)out->bytes + begin, FAILURE_NAME_MAX_BYTES);
        out->bytes[out->n] = '\0';
    }
}

void failure_add_name(struct buf *out, const struct failure *f)
{
    add_cause(out, f, true);
}

void failure_add_words(struct buf *out, const struct failure *f)
{
    add_cause(out, f, false);
}
