/* SPDX-License-Identifier: MIT */
/* output.c - results on stdout, messages on stderr */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "client/term/output.h"
#include "client/term/safe_text.h"
#include "common/base/io.h"
#include "common/base/mem.h"

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

/* There is nobody to tell when stderr cannot be written. */
static void say(struct buf *line)
{
    (void)!io_write_all(STDERR_FILENO, buf_text(line), line->n);
    buf_free(line);
}

void output_note(const char *format, ...)
{
    struct buf line = { 0 };
    va_list ap;
    char *text;

    va_start(ap, format);
    text = mem_vprintf(format, ap);
    va_end(ap);
    safe_text_add_harmless(&line, text, strlen(text), "\n\t");
    buf_add_char(&line, '\n');
    say(&line);
    free(text);
}

void output_error(const struct err *e)
{
    struct buf lines = { 0 };
    const char *line = e->text;

    if (e->kind == ERR_NONE)
        return;
    while (*line != '\0') {
        size_t n = strcspn(line, "\n");

        /* What stands indented belongs to the line above it. */
        buf_add_str(&lines, line[0] == ' ' ? "" : "ludwig: ");
        safe_text_add_harmless(&lines, line, n, "\t");
        buf_add_char(&lines, '\n');
        line += n + (line[n] == '\n');
    }
    say(&lines);
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

bool output_has_colour(int fd)
{
    const char *no_color = getenv("NO_COLOR");
    const char *term = getenv("TERM");

    if (!output_is_terminal(fd) || (no_color != NULL && no_color[0] != '\0'))
        return false;
    return term != NULL && strcmp(term, "dumb") != 0;
}

void output_add_versioned(struct buf *out, const struct schema *s, const void *from)
{
    struct buf fields = { 0 };

    schema_add_json(s, from, &fields);
    buf_printf(out, "{\"v\":1,%s", buf_text(&fields) + 1);
    buf_free(&fields);
}
