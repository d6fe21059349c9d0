/* SPDX-License-Identifier: MIT */
/* output.c - results on stdout, messages and questions on stderr */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "client/term/output.h"
#include "client/term/safe_text.h"
#include "common/base/io.h"
#include "common/base/mem.h"

enum { ANSWER_BYTES = 80, ROWS_USUAL = 24 };

int output_write(struct buf *b, struct err *e)
{
    int result = io_write_all(STDOUT_FILENO, buf_text(b), b->n);
    int number = errno;

    buf_free(b);
    if (result == 0)
        return 0;
    errno = number;
    err_sys(e, "write to stdout");
    if (number == EPIPE)
        err_clear(e);
    return -1;
}

/* Writes to stderr and frees the line.  Errors are ignored, as they cannot be reported. */
static void write_message(struct buf *line)
{
    (void)!io_write_all(STDERR_FILENO, buf_text(line), line->n);
    buf_free(line);
}

void output_note(const char *format, ...)
{
    struct buf line = { 0 };
    va_list ap;

    va_start(ap, format);
    buf_vprintf(&line, format, ap);
    va_end(ap);
    safe_text_clean(&line, "\n\t");
    buf_add_char(&line, '\n');
    write_message(&line);
}

void output_error(const struct err *e)
{
    struct buf lines = { 0 };
    const char *line = e->text;

    if (e->kind == ERR_NONE)
        return;
    while (*line != '\0') {
        size_t n = strcspn(line, "\n");

        /* An indented line continues the line above it and gets no prefix. */
        buf_add_str(&lines, line[0] == ' ' ? "" : "ludwig: ");
        safe_text_add_harmless(&lines, line, n, "\t");
        buf_add_char(&lines, '\n');
        line += n + (line[n] == '\n');
    }
    write_message(&lines);
}

bool output_is_terminal(int fd)
{
    return isatty(fd) == 1;
}

size_t output_columns(int fd)
{
    struct winsize size;

    if (!output_is_terminal(fd))
        return SIZE_MAX;
    if (ioctl(fd, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
        return 80;
    return size.ws_col;
}

size_t output_rows(int fd)
{
    struct winsize size;

    if (!output_is_terminal(fd))
        return SIZE_MAX;
    if (ioctl(fd, TIOCGWINSZ, &size) < 0 || size.ws_row == 0)
        return ROWS_USUAL;
    return size.ws_row;
}

/* Whether fd is a terminal that can move its cursor and show colours: TERM is set, not "dumb". */
static bool is_able(int fd)
{
    const char *term = getenv("TERM");

    return output_is_terminal(fd) && term != NULL && strcmp(term, "dumb") != 0;
}

bool output_has_colour(int fd)
{
    const char *no_color = getenv("NO_COLOR");

    return is_able(fd) && (no_color == NULL || no_color[0] == '\0');
}

bool output_has_utf8(void)
{
    static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" }; /* the first set counts */

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *locale = getenv(names[i]);

        if (locale != NULL && locale[0] != '\0')
            return strcasestr(locale, "utf-8") != NULL || strcasestr(locale, "utf8") != NULL;
    }
    return false;
}

int output_write_json(const struct schema *s, const void *from, struct err *e)
{
    struct buf fields = { 0 }, out = { 0 };

    schema_add_json(s, from, &fields);
    buf_printf(&out, "{\"v\":1,%s\n", buf_text(&fields) + 1);
    buf_free(&fields);
    return output_write(&out, e);
}

bool output_can_ask(void)
{
    return output_is_terminal(STDIN_FILENO) && output_is_terminal(STDERR_FILENO);
}

/* Reads the answer to the end of its line; bytes beyond ANSWER_BYTES are dropped. */
bool output_ask(const char *question)
{
    char answer[ANSWER_BYTES], c;
    struct buf text = { 0 };
    size_t n = 0;
    ssize_t got;

    safe_text_add_harmless(&text, question, strlen(question), "");
    buf_add_str(&text, " [y/N] ");
    write_message(&text);
    while ((got = read(STDIN_FILENO, &c, 1)) != 0 && (got > 0 || errno == EINTR)) {
        if (got > 0 && c == '\n')
            break;
        if (got > 0 && n + 1 < sizeof answer)
            answer[n++] = c;
    }
    while (n > 0 && (answer[n - 1] == ' ' || answer[n - 1] == '\r'))
        n--;
    answer[n] = '\0';
    return strcasecmp(answer, "y") == 0 || strcasecmp(answer, "yes") == 0;
}

bool output_has_cursor(int fd)
{
    return is_able(fd);
}
