/* SPDX-License-Identifier: MIT */
/* confirm.c - ask before much is changed */
#include <errno.h>
#include <strings.h>
#include <unistd.h>

#include "client/term/confirm.h"
#include "client/term/output.h"
#include "common/base/io.h"

enum { ANSWER_BYTES = 80 };

bool confirm_is_possible(void)
{
    return output_is_terminal(STDIN_FILENO) && output_is_terminal(STDERR_FILENO);
}

/* What was typed up to the end of the line; what does not fit is dropped. */
static void read_line(char line[ANSWER_BYTES])
{
    size_t n = 0;
    char c = 0;

    for (;;) {
        ssize_t got = read(STDIN_FILENO, &c, 1);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0 || c == '\n')
            break;
        if (n + 1 < ANSWER_BYTES)
            line[n++] = c;
    }
    while (n > 0 && (line[n - 1] == ' ' || line[n - 1] == '\r'))
        n--;
    line[n] = '\0';
}

bool confirm_ask(const char *question)
{
    char answer[ANSWER_BYTES];
    struct buf text = { 0 };

    buf_printf(&text, "%s [y/N] ", question);
    (void)!io_write_all(STDERR_FILENO, buf_text(&text), text.n);
    buf_free(&text);
    read_line(answer);
    return strcasecmp(answer, "y") == 0 || strcasecmp(answer, "yes") == 0;
}
