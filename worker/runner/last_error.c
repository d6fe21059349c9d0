/* SPDX-License-Identifier: MIT */
/* last_error.c - what a failed job's log says went wrong */
#include "worker/runner/last_error.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/mem.h"
#include "common/base/path.h"
#include "common/base/utf8.h"
#include "common/proto/failure.h"

enum {
    TAIL_BYTES = 16 * 1024,
    LINES_LOOKED_AT = 8,
    LINES_BELOW_TRACEBACK = 40, /* what a program, or what started it, says after its traceback */
    LINE_MAX_BYTES = 300        /* a traceback's last line may hold a whole matrix */
};

/* A line with one of these tells of an error, whatever language the program was written in. */
static const char *const words[] = {
    "error",   "exception", "fatal",   "fail",         "abort",   "assert", "panic",
    "cannot",  "can't",     "no such", "not found",    "invalid", "denied", "terminate",
    "what():", "fault",     "killed",  "unrecognized", "usage:",
};

/* Lines of a stack trace begin with one of these, behind blanks; digits count as 0. */
static const char *const frames[] = {
    "at ",
    "@ ",
    "[0] ",
    "Stacktrace:",
    "in expression starting at ",
    "stack backtrace:",
    "note: run with ",
    "Calls: ",
    "Execution halted",
    "Node.js v",
};

/* These only say that a program failed which they had started: what that said is the error. */
static const char *const wrappers[] = { "ChildFailedError", "CalledProcessError" };

static bool tells_of_error(const char *line)
{
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcasestr(line, words[i]) != NULL)
            return true;
    return false;
}

/* Whether text begins with the pattern, in which a 0 stands for any digits. */
static bool begins_with(const char *text, const char *pattern)
{
    for (; *pattern != '\0'; pattern++) {
        size_t n = *pattern == '0' ? strspn(text, "0123456789") : *text == *pattern;

        if (n == 0)
            return false;
        text += n;
    }
    return true;
}

static bool is_frame(const char *line)
{
    const char *text = line + strspn(line, " ");

    for (size_t i = 0; i < sizeof frames / sizeof frames[0]; i++)
        if (begins_with(text, frames[i]))
            return true;
    return false;
}

/* Whether the line is a progress bar, as tqdm draws it. */
static bool is_bar(const char *line)
{
    return strstr(line, "%|") != NULL || strstr(line, "it/s") != NULL ||
           strstr(line, "s/it") != NULL;
}

/* Reads the end of the log. */
static void read_tail(const struct scratch *s, const char *token_hex, struct buf *tail)
{
    int fd = openat(s->log_fd, token_hex, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat st;
    ssize_t got = -1;

    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        got = io_read_all_at(fd, buf_reserve(tail, TAIL_BYTES), TAIL_BYTES,
                             st.st_size > TAIL_BYTES ? (uint64_t)(st.st_size - TAIL_BYTES) : 0);
    buf_added(tail, got > 0 ? (size_t)got : 0);
    if (fd >= 0)
        close(fd);
}

/* Returns a line as plain text, which the caller frees: bytes that are no character become '?',
 * colours go, and only what follows the last carriage return stays, as on a terminal. */
static char *plain_line(const char *at, size_t n)
{
    const char *shown = n > 0 ? memrchr(at, '\r', n - 1) : NULL;
    const char *end = at + n;
    struct buf line = { 0 };

    for (at = shown != NULL ? shown + 1 : at; at < end && line.n < LINE_MAX_BYTES;) {
        uint32_t character = 0;
        size_t bytes = utf8_next(at, (size_t)(end - at), &character);

        if (*at == '\033' && at + 1 < end && at[1] == '[') {
            at += 2;
            while (at < end && (*at < '@' || *at > '~'))
                at++;
            at += at < end;
            continue;
        }
        if (bytes == 0 || character < ' ' || character == 0x7f)
            buf_add_char(&line, bytes == 0 ? '?' : ' ');
        else
            buf_add(&line, at, bytes);
        at += bytes == 0 ? 1 : bytes;
    }
    while (line.n > 0 && line.bytes[line.n - 1] == ' ')
        line.n--;
    buf_add_char(&line, '\0');
    return buf_take(&line);
}

/* Adds a hint if line has "No such file or directory: 'd/train.csv'" and data/ has a train.csv. */
static void add_hint(struct buf *reason, const struct scratch *s, const char *token_hex,
                     const char *line)
{
    const char *begin = strcasestr(line, "no such file") != NULL ? strpbrk(line, "'\"") : NULL;
    const char *end = begin == NULL ? NULL : strchr(begin + 1, *begin);
    char *path, *below;

    if (end == NULL)
        return;
    path = mem_strndup(begin + 1, (size_t)(end - begin - 1));
    below = mem_printf("%s/" JOB_DATA "/%s", token_hex, path_basename(path));
    if (path_basename(path)[0] != '\0' && faccessat(s->run_fd, below, F_OK, 0) == 0)
        buf_printf(reason,
                   " (it is $LUDWIG_DATA/%s; data: {%s: FILE} links it where the program "
                   "looks)",
                   path_basename(path), path);
    free(below);
    free(path);
}

/* Cuts the attempt's folder off paths, so that the same failure of several jobs reads the same. */
static void forget_folder(char *line, const struct scratch *s, const char *token_hex)
{
    char *folder = mem_printf("%s/" SCRATCH_RUN "/%s/", s->path, token_hex), *at = line;

    while ((at = strstr(at, folder)) != NULL)
        memmove(at, at + strlen(folder), strlen(at + strlen(folder)) + 1);
    free(folder);
}

/* A line of the log's end, without its newline. */
struct tail_line {
    const char *at;
    size_t n;
};

/* Moves line on to the next one (without text: to the first); false: there is none. */
static bool next_line(const struct buf *tail, struct tail_line *line)
{
    const char *end = (const char *)tail->bytes + tail->n, *newline;

    line->at = line->at == NULL ? (const char *)tail->bytes : line->at + line->n + 1;
    if (line->at >= end)
        return false;
    newline = memchr(line->at, '\n', (size_t)(end - line->at));
    line->n = (size_t)((newline != NULL ? newline : end) - line->at);
    return true;
}

/* ---- Python's tracebacks ---- */

/* Where the line names a traceback's file, behind "[rank0]: " or "  | "; -1: it names none. */
static ssize_t file_place(const struct tail_line *line)
{
    static const char file[] = " File \"";
    const char *at = memmem(line->at, line->n, file, sizeof file - 1);

    return at != NULL && at > line->at && (at[-1] == ' ' || at[-1] == '>') ? at - 1 - line->at : -1;
}

/* Whether an exception's name begins the text, alone or before a colon. */
static bool names_exception(const char *text, size_t n)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    size_t i = 0;

    if (n == 0 || memchr(letters, text[0], sizeof letters - 1) == NULL)
        return false;
    while (i < n && (isalnum((unsigned char)text[i]) || text[i] == '_' || text[i] == '.' ||
                     text[i] == '<' || text[i] == '>' || (unsigned char)text[i] >= 0x80))
        i++;
    if (i < n && text[i] == '\r')
        i++;
    return i == n || (text[i] == ':' && (i + 1 == n || text[i + 1] == ' ' || text[i + 1] == '\r'));
}

static bool is_wrapper(const struct tail_line *line)
{
    size_t n = strcspn(line->at, ":\r\n");

    for (size_t i = 0; i < sizeof wrappers / sizeof wrappers[0]; i++) {
        size_t length = strlen(wrappers[i]);

        if (n >= length && n <= line->n && memcmp(line->at + n - length, wrappers[i], length) == 0)
            return true;
    }
    return false;
}

/*
 * Returns "ValueError: ..." from below the last of Python's tracebacks; NULL: there is none at the
 * end of the log.  A progress bar may stand before the header, and "[rank0]: " or "  | " before each
 * line: the line with the traceback's first file tells where its text begins.
 */
static char *below_traceback(const struct buf *tail)
{
    static const char header[] = "Traceback (most recent call last):";
    struct tail_line line = { 0 }, found = { 0 };
    size_t below = 0;
    ssize_t begin = -1; /* of the text in the traceback's lines; -1: no file was named yet */
    bool is_inside = false;

    while (tail->n > 0 && next_line(tail, &line)) {
        if (memmem(line.at, line.n, header, sizeof header - 1) != NULL) {
            is_inside = true;
            begin = -1;
        } else if (is_inside && begin < 0) {
            begin = file_place(&line);
        } else if (is_inside && line.n > (size_t)begin &&
                   (begin == 0 || !isalnum((unsigned char)line.at[begin - 1])) &&
                   names_exception(line.at + begin, line.n - (size_t)begin)) {
            struct tail_line exception = { line.at + begin, line.n - (size_t)begin };

            if (found.at == NULL || !is_wrapper(&exception))
                found = exception;
            is_inside = false;
            below = 0;
        } else {
            below++;
        }
    }
    if (found.at == NULL || is_inside || below > LINES_BELOW_TRACEBACK)
        return NULL;
    return plain_line(found.at, found.n);
}

/* ---- other programs' last words ---- */

/* Returns the last of the log's last lines that tells of an error, or else, with *is_sure false, the
 * last that is no progress bar; NULL: there is none. */
static char *last_words(const struct buf *tail, bool *is_sure)
{
    size_t end, n_lines = 0;
    char *last = NULL;

    *is_sure = true;
    for (end = tail->n; end > 0 && n_lines < LINES_LOOKED_AT;) {
        const char *newline = memrchr(tail->bytes, '\n', end);
        size_t begin = newline == NULL ? 0 : (size_t)(newline - (const char *)tail->bytes) + 1;
        char *line = plain_line((const char *)tail->bytes + begin, end - begin);

        end = begin == 0 ? 0 : begin - 1;
        if (line[0] == '\0' || is_frame(line) || is_bar(line)) {
            free(line);
        } else if (tells_of_error(line)) {
            free(last);
            return line;
        } else {
            n_lines++;
            if (last == NULL)
                last = line;
            else
                free(line);
        }
    }
    *is_sure = last == NULL;
    return last;
}

char *last_error_find(const struct buf *tail, bool *is_sure)
{
    char *line = below_traceback(tail);

    *is_sure = true;
    return line != NULL ? line : last_words(tail, is_sure);
}

void last_error_add(struct buf *reason, const struct scratch *s, const char *token_hex)
{
    struct buf tail = { 0 };
    bool is_sure;
    char *line;

    read_tail(s, token_hex, &tail);
    line = last_error_find(&tail, &is_sure);
    if (line != NULL) {
        forget_folder(line, s, token_hex);
        buf_printf(reason, "%s: %s", is_sure ? "" : FAILURE_LAST_LINE, line + strspn(line, " "));
        add_hint(reason, s, token_hex, line);
    }
    free(line);
    buf_free(&tail);
}
