/* SPDX-License-Identifier: MIT */
/* terminal.c - the whole screen of a terminal, its keys and signals, by ncurses */
#include "client/watch/terminal.h"

#define NCURSES_WIDECHAR 1
#include <curses.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

#include "client/term/output.h"
#include "client/watch/keys.h"
#include "common/base/io.h"

enum {
    ESCAPE_MS = 25, /* bytes that come later after an Esc are other keys */
    LEAVE_BYTES = 256,
    COLOURS_OF_CUBE = 256
};

static const int taken[] = { SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGWINCH };
static const int crashes[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGQUIT };
enum { N_TAKEN = sizeof taken / sizeof taken[0], N_CRASHES = sizeof crashes / sizeof crashes[0] };

/* Global, as a signal handler has no context. */
static struct {
    SCREEN *screen; /* NULL: not open */
    bool has_colour;
    struct termios before;
    char leave[LEAVE_BYTES]; /* bytes that make the terminal show again what it showed before */
    size_t n_leave;
    int pipe[2];
    struct sigaction old[N_TAKEN], old_crashes[N_CRASHES];
} terminal;

/* ---- signals ---- */

static void on_signal(int number)
{
    const char byte = (char)number;
    int saved = errno;

    (void)!write(terminal.pipe[1], &byte, 1);
    errno = saved;
}

/* Restores the terminal with what a signal handler may call, and crashes. */
static void on_crash(int number)
{
    (void)!write(STDOUT_FILENO, terminal.leave, terminal.n_leave);
    (void)tcsetattr(STDIN_FILENO, TCSANOW, &terminal.before);
    (void)raise(number); /* its action is the default again */
}

static void take_signals(void)
{
    struct sigaction take = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
    struct sigaction crash = { .sa_handler = on_crash,
                               .sa_flags = (int)(SA_RESETHAND | SA_NODEFER) };

    sigemptyset(&take.sa_mask);
    sigemptyset(&crash.sa_mask);
    for (size_t i = 0; i < N_TAKEN; i++)
        sigaction(taken[i], &take, &terminal.old[i]);
    for (size_t i = 0; i < N_CRASHES; i++)
        sigaction(crashes[i], &crash, &terminal.old_crashes[i]);
}

static void leave_signals(void)
{
    for (size_t i = 0; i < N_TAKEN; i++)
        sigaction(taken[i], &terminal.old[i], NULL);
    for (size_t i = 0; i < N_CRASHES; i++)
        sigaction(crashes[i], &terminal.old_crashes[i], NULL);
}

int terminal_signal_fd(void)
{
    return terminal.pipe[0];
}

/* Stops the program, as Ctrl-Z does; meanwhile the terminal shows what it showed before. */
static void stop(void)
{
    struct sigaction take, stop_us = { .sa_handler = SIG_DFL };

    sigemptyset(&stop_us.sa_mask);
    def_prog_mode();
    endwin();
    sigaction(SIGTSTP, &stop_us, &take);
    (void)raise(SIGTSTP);
    sigaction(SIGTSTP, &take, NULL);
    reset_prog_mode();
    clearok(curscr, TRUE);
    refresh();
}

int terminal_take_signals(void)
{
    bool is_stopped = false, is_resized = false;
    unsigned char numbers[64];
    int end = 0;
    ssize_t n;

    while ((n = read(terminal.pipe[0], numbers, sizeof numbers)) > 0)
        for (ssize_t i = 0; i < n; i++) {
            is_stopped |= numbers[i] == SIGTSTP;
            is_resized |= numbers[i] == SIGWINCH;
            if (numbers[i] == SIGINT || numbers[i] == SIGTERM || numbers[i] == SIGHUP)
                end = numbers[i];
        }
    if (is_stopped && end == 0)
        stop();
    if (is_resized || is_stopped) {
        size_t columns = output_columns(STDOUT_FILENO), rows = output_rows(STDOUT_FILENO);

        if (columns != SIZE_MAX && rows != SIZE_MAX)
            resizeterm((int)rows, (int)columns);
        clearok(curscr, TRUE);
    }
    return end;
}

/* ---- opening ---- */

bool terminal_is_there(void)
{
    return output_has_cursor(STDOUT_FILENO) && output_is_terminal(STDIN_FILENO);
}

static int open_pipe(struct err *e)
{
    if (pipe(terminal.pipe) < 0)
        return err_sys(e, "pipe");
    for (int i = 0; i < 2; i++)
        if (fcntl(terminal.pipe[i], F_SETFD, FD_CLOEXEC) < 0 ||
            io_set_nonblocking(terminal.pipe[i], NULL) < 0) {
            err_sys(e, "pipe");
            close(terminal.pipe[0]);
            close(terminal.pipe[1]);
            return -1;
        }
    return 0;
}

/* Keeps the bytes that a crash needs, in which ncurses cannot be asked any more. */
static void keep_leave(void)
{
    /* Capabilities of terminfo: no attributes, usual cursor, keys as before, screen as before. */
    static const char *const names[] = { "sgr0", "cnorm", "rmkx", "rmcup" };

    terminal.n_leave = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *part = tigetstr((char *)(uintptr_t)names[i]);
        bool is_there = part != NULL && part != (char *)(intptr_t)-1;
        size_t n = is_there ? strlen(part) : 0;

        if (n == 0 || terminal.n_leave + n > LEAVE_BYTES)
            continue;
        memcpy(terminal.leave + terminal.n_leave, part, n);
        terminal.n_leave += n;
    }
}

/* Makes a pair of colours for each ink, as near as the terminal can show them. */
static void make_pairs(void)
{
    static const short of_states[] = { COLOR_GREEN, COLOR_RED, COLOR_CYAN, COLOR_YELLOW };
    static const short coarse[] = { COLOR_MAGENTA, COLOR_BLUE, COLOR_CYAN, COLOR_GREEN,
                                    COLOR_YELLOW };

    use_default_colors();
    for (int ink = INK_RAMP; ink < INK_COUNT; ink++) {
        short colour = COLOR_WHITE;

        if (ink >= INK_GOOD) {
            colour = of_states[ink - INK_GOOD];
        } else if (COLORS >= COLOURS_OF_CUBE) {
            uint8_t rgb[3];

            canvas_ramp_colour(ink, rgb);
            colour = (short)(16 + 36 * (rgb[0] / 43) + 6 * (rgb[1] / 43) + rgb[2] / 43);
        } else {
            colour = coarse[(ink - INK_RAMP) * 5 / INK_RAMP_STEPS];
        }
        init_pair((short)ink, colour, -1);
    }
}

int terminal_open(struct err *e)
{
    (void)setlocale(LC_CTYPE, "");
    if (tcgetattr(STDIN_FILENO, &terminal.before) < 0)
        return err_sys(e, "the terminal");
    if (open_pipe(e) < 0)
        return -1;
    /* Before ncurses, which takes all signals that have no handler yet. */
    take_signals();
    /* Not initscr, which ends the program if TERM is not known. */
    terminal.screen = newterm(NULL, stdout, stdin);
    if (terminal.screen == NULL) {
        const char *term = getenv("TERM");

        leave_signals();
        close(terminal.pipe[0]);
        close(terminal.pipe[1]);
        return err_set(e, ERR_FAILED, "this system does not know a terminal '%s' (TERM)",
                       term != NULL ? term : "");
    }
    keep_leave();
    terminal.has_colour = output_has_colour(STDOUT_FILENO) && has_colors() && start_color() == OK;
    if (terminal.has_colour)
        make_pairs();
    cbreak(); /* Ctrl-C and Ctrl-Z stay signals */
    noecho();
    nonl();
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    set_escdelay(ESCAPE_MS);
    return 0;
}

void terminal_close(void)
{
    if (terminal.screen == NULL)
        return;
    endwin();
    delscreen(terminal.screen);
    terminal.screen = NULL;
    (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &terminal.before);
    leave_signals();
    close(terminal.pipe[0]);
    close(terminal.pipe[1]);
}

/* ---- showing ---- */

void terminal_size(size_t *columns, size_t *rows)
{
    *columns = (size_t)getmaxx(stdscr);
    *rows = (size_t)getmaxy(stdscr);
}

static attr_t attributes_of(int whole)
{
    int ink = whole & ~INK_REVERSE;
    attr_t all = (whole & INK_REVERSE) != 0 ? A_REVERSE : A_NORMAL;

    if (ink == INK_DIM)
        all |= A_DIM;
    else if (ink == INK_STRONG || ink == INK_BAD || ink == INK_WARN)
        all |= A_BOLD;
    return all;
}

void terminal_show(const struct canvas *c, size_t column, size_t row)
{
    size_t columns, rows;
    struct buf run = { 0 };

    terminal_size(&columns, &rows);
    erase();
    for (size_t y = 0; y < rows; y++) {
        int ink = -1;
        size_t begin = 0;

        for (size_t x = 0; x <= columns; x++) {
            struct buf cell = { 0 };
            int of_cell = x < columns ? canvas_cell(&cell, c, x, y) : -1;

            if (of_cell != ink && run.n > 0) {
                short pair = terminal.has_colour && (ink & ~INK_REVERSE) >= INK_RAMP
                                 ? (short)(ink & ~INK_REVERSE)
                                 : 0;

                (void)attr_set(attributes_of(ink), pair, NULL);
                mvaddnstr((int)y, (int)begin, buf_text(&run), (int)run.n);
                buf_clear(&run);
            }
            if (run.n == 0)
                begin = x;
            ink = of_cell;
            buf_add(&run, cell.bytes, cell.n);
            buf_free(&cell);
        }
        buf_clear(&run);
    }
    buf_free(&run);
    (void)attr_set(A_NORMAL, 0, NULL);
    move((int)row, (int)column);
    refresh();
}

int terminal_key(void)
{
    static const struct {
        int curses, key;
    } specials[] = {
        { KEY_UP, KEYS_UP },
        { KEY_DOWN, KEYS_DOWN },
        { KEY_LEFT, KEYS_LEFT },
        { KEY_RIGHT, KEYS_RIGHT },
        { KEY_PPAGE, KEYS_PAGE_UP },
        { KEY_NPAGE, KEYS_PAGE_DOWN },
        { KEY_HOME, KEYS_HOME },
        { KEY_END, KEYS_END },
        { KEY_BTAB, KEYS_BACK_TAB },
        { KEY_ENTER, '\r' },
        { KEY_BACKSPACE, KEYS_BACKSPACE },
    };
    wint_t key;
    int got = get_wch(&key);

    if (got == ERR)
        return -1;
    if (got == KEY_CODE_YES) {
        for (size_t i = 0; i < sizeof specials / sizeof specials[0]; i++)
            if (specials[i].curses == (int)key)
                return specials[i].key;
        return KEYS_REDRAW;
    }
    return key == '\033' ? (int)KEYS_ESCAPE : (int)key;
}
