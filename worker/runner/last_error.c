/* SPDX-License-Identifier: MIT */
/* last_error.c - what a failed job's log says went wrong */
#include "worker/runner/last_error.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/mem.h"
#include "common/base/path.h"
#include "common/base/utf8.h"

enum {
    TAIL_BYTES = 16 * 1024,
    LINES_LOOKED_AT = 8,
    LINES_BELOW_TRACEBACK = 40, /* what a program, or what started it, says after its traceback */
    LINE_MAX_BYTES = 300        /* a traceback's last line may hold a whole matrix */
};

/* A line with one of these tells of an error, whatever language the program was written in. */
static const char *const words[] = {
    "error", "exception", "fatal",     "fail",    "abort",  "assert",       "panic",  "cannot",
    "can't", "no such",   "not found", "invalid", "denied", "unrecognized", "killed", "usage:",
};

static bool tells_of_error(const char *line)
{
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcasestr(line, words[i]) != NULL)
            return true;
    return false;
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

/* Returns "ValueError: ..." from below the last of Python's tracebacks, whose lines may all begin
 * with "[rank0]: "; NULL: there is none at the end of the log. */
static char *below_traceback(const struct buf *tail)
{
    static const char header[] = "Traceback (most recent call last):";
    size_t prefix = 0, below = 0;
    struct tail_line line = { 0 }, found = { 0 };
    bool is_inside = false;

    while (tail->n > 0 && next_line(tail, &line)) {
        const char *begins = memmem(line.at, line.n, header, sizeof header - 1);

        if (begins != NULL) {
            prefix = (size_t)(begins - line.at);
            is_inside = true;
        } else if (is_inside && line.n > prefix && line.at[prefix] != ' ') {
            found = (struct tail_line){ line.at + prefix, line.n - prefix };
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

/* Returns the last of the log's last lines that tells of an error; NULL: none does. */
static char *last_that_tells(const struct buf *tail)
{
    size_t end, n_lines = 0;

    for (end = tail->n; end > 0 && n_lines < LINES_LOOKED_AT;) {
        const char *newline = memrchr(tail->bytes, '\n', end);
        size_t begin = newline == NULL ? 0 : (size_t)(newline - (const char *)tail->bytes) + 1;
        char *line = plain_line((const char *)tail->bytes + begin, end - begin);

        if (tells_of_error(line))
            return line;
        n_lines += line[0] != '\0';
        free(line);
        end = begin == 0 ? 0 : begin - 1;
    }
    return NULL;
}

void last_error_add(struct buf *reason, const struct scratch *s, const char *token_hex)
{
    struct buf tail = { 0 };
    char *line;

    read_tail(s, token_hex, &tail);
    line = below_traceback(&tail);
    if (line == NULL)
        line = last_that_tells(&tail);
    if (line != NULL) {
        forget_folder(line, s, token_hex);
        buf_printf(reason, ": %s", line + strspn(line, " "));
        add_hint(reason, s, token_hex, line);
    }
    free(line);
    buf_free(&tail);
}
