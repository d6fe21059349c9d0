/* SPDX-License-Identifier: MIT */
/* at_boot.c - starts the user's own server at each boot, by systemd or crontab */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/session/at_boot.h"
#include "client/term/output.h"
#include "client/util/child.h"
#include "client/util/conf.h"
#include "common/base/io.h"
#include "common/base/path.h"

/* The end of our line in the crontab. */
#define MARK "# ludwig up --at-boot"

/* Variables that decide, beside HOME, where ludwig's files are: the started server needs them. */
static const char *const variables[] = { "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME" };

/* ---- systemd ---- */

static int run(const char *const *argv, const char *what, struct err *e)
{
    struct buf said = { 0 };
    int status = child_capture_all(argv, &said, &said, e);

    if (status > 0)
        err_set(e, ERR_FAILED, "%s: %.*s", what, (int)strcspn(buf_text(&said), "\n"),
                said.n > 0 ? buf_text(&said) : "it failed");
    buf_free(&said);
    return status == 0 ? 0 : -1;
}

static bool has_systemd(void)
{
    const char *const argv[] = { "systemctl", "--user", "show-environment", NULL };

    return child_is_in_path("systemctl") && run(argv, "systemctl", NULL) == 0;
}

static char *unit_path(void)
{
    const char *config = getenv("XDG_CONFIG_HOME");
    char *folder =
        config != NULL && config[0] == '/' ? mem_strdup(config) : path_expand_home("~/.config");
    char *path = path_join(folder, "systemd/user/ludwig.service");

    free(folder);
    return path;
}

/* Adds text in double quotes, as systemd reads it: % is written as %%. */
static void add_quoted(struct buf *out, const char *text)
{
    buf_add_char(out, '"');
    for (; *text != '\0'; text++) {
        if (strchr("\\\"", *text) != NULL)
            buf_add_char(out, '\\');
        else if (*text == '%')
            buf_add_char(out, '%');
        buf_add_char(out, *text);
    }
    buf_add_char(out, '"');
}

static void add_unit(struct buf *out, const char *ludwig)
{
    buf_add_str(out, "# Written by `ludwig up --at-boot`; `ludwig down --at-boot` removes it.\n"
                     "[Unit]\nDescription=ludwig: a server and a worker of one's own\n\n"
                     "[Service]\nType=oneshot\nRemainAfterExit=yes\nKillMode=process\n");
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        const char *value = getenv(variables[i]);
        char *setting = value == NULL ? NULL : mem_printf("%s=%s", variables[i], value);

        if (setting != NULL) {
            buf_add_str(out, "Environment=");
            add_quoted(out, setting);
            buf_add_char(out, '\n');
        }
        free(setting);
    }
    buf_add_str(out, "ExecStart=");
    add_quoted(out, ludwig);
    buf_add_str(out, " up\nExecStop=");
    add_quoted(out, ludwig);
    buf_add_str(out, " down\n\n[Install]\nWantedBy=default.target\n");
}

static int begin_unit(const char *ludwig, struct err *e)
{
    const char *const enable[] = { "systemctl", "--user", "enable", "ludwig.service", NULL };
    const char *const linger[] = { "loginctl", "enable-linger", NULL };
    char *path = unit_path(), *folder = path_dirname(path);
    struct err why = { 0 };
    struct buf text = { 0 };
    int result = io_make_dirs(folder, 0755, e);

    add_unit(&text, ludwig);
    if (result == 0)
        result = io_replace_file(path, text.bytes, text.n, 0644, e);
    if (result == 0)
        result = run(enable, "systemctl --user enable", e);
    if (result == 0)
        output_note("wrote and enabled %s", path);
    /* Without lingering a user's services do not start before the user logs in. */
    if (result == 0 && run(linger, "loginctl enable-linger", &why) < 0)
        output_note(
            "note: it starts when you log in, not before (%s); an administrator can change that: "
            "loginctl enable-linger $USER",
            why.text);
    buf_free(&text);
    free(folder);
    free(path);
    return result;
}

/* Disables and removes our unit.  Returns 1 when there was one, 0 when not, -1 on error. */
static int end_unit(struct err *e)
{
    const char *const disable[] = { "systemctl", "--user", "disable", "ludwig.service", NULL };
    char *path = unit_path();
    int result = 0;

    if (access(path, F_OK) == 0) {
        if (child_is_in_path("systemctl"))
            (void)run(disable, "systemctl", NULL);
        result = unlink(path) < 0 ? err_sys(e, "remove %s", path) : 1;
        if (result > 0)
            output_note("disabled and removed %s", path);
    }
    free(path);
    return result;
}

/* ---- crontab ---- */

/* Reads the lines of the user's crontab but ours; 1 when ours was there, else 0.  No crontab: no
 * lines; any other failure of `crontab -l` is an error: the user's lines would get lost. */
static int read_crontab(struct buf *others, struct err *e)
{
    const char *const argv[] = { "crontab", "-l", NULL };
    struct buf text = { 0 }, said = { 0 };
    int status = child_capture_all(argv, &text, &said, e), had = 0;

    for (const char *at = buf_text(&text); status == 0 && *at != '\0';) {
        size_t n = strcspn(at, "\n");

        if (n >= strlen(MARK) && memcmp(at + n - strlen(MARK), MARK, strlen(MARK)) == 0)
            had = 1;
        else
            buf_printf(others, "%.*s\n", (int)n, at);
        at += n + (at[n] == '\n');
    }
    if (status > 0 && strstr(buf_text(&said), "no crontab") == NULL) {
        err_set(e, ERR_FAILED, "crontab -l: %.*s", (int)strcspn(buf_text(&said), "\n"),
                buf_text(&said));
        status = -1;
    }
    buf_free(&text);
    buf_free(&said);
    return status < 0 ? -1 : had;
}

static int write_crontab(const struct buf *lines, struct err *e)
{
    char *state = conf_state_dir(), *path = path_join(state, "crontab.new");
    const char *const argv[] = { "crontab", path, NULL };
    int result = io_make_dirs(state, 0700, e);

    if (result == 0)
        result = io_replace_file(path, lines->n > 0 ? lines->bytes : (const uint8_t *)"", lines->n,
                                 0600, e);
    if (result == 0) {
        result = run(argv, "crontab", e);
        (void)unlink(path);
    }
    free(path);
    free(state);
    return result;
}

/* Adds text in single quotes for the shell; a % is escaped: it would end the command for cron. */
static void add_word(struct buf *out, const char *text)
{
    buf_add_char(out, '\'');
    for (; *text != '\0'; text++)
        if (*text == '\'')
            buf_add_str(out, "'\\''");
        else if (*text == '%')
            buf_add_str(out, "'\\%'");
        else
            buf_add_char(out, *text);
    buf_add_char(out, '\'');
}

static int begin_crontab(const char *ludwig, struct err *e)
{
    struct buf lines = { 0 };
    int result = read_crontab(&lines, e);

    buf_add_str(&lines, "@reboot ");
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        const char *value = getenv(variables[i]);

        if (value == NULL)
            continue;
        buf_printf(&lines, "%s=", variables[i]);
        add_word(&lines, value);
        buf_add_char(&lines, ' ');
    }
    add_word(&lines, ludwig);
    buf_add_str(&lines, " up >/dev/null 2>&1 " MARK "\n");
    if (result >= 0)
        result = write_crontab(&lines, e);
    if (result == 0)
        output_note("added a line to your crontab (`crontab -l` shows it)");
    buf_free(&lines);
    return result;
}

/* Removes our line.  Returns 1 when the crontab had it, 0 when not, -1 on error. */
static int end_crontab(struct err *e)
{
    struct buf lines = { 0 };
    int had = child_is_in_path("crontab") ? read_crontab(&lines, e) : 0, result = had;

    if (had > 0 && write_crontab(&lines, e) < 0)
        result = -1;
    if (result > 0)
        output_note("took the line out of your crontab");
    buf_free(&lines);
    return result;
}

/* ---- either ---- */

int at_boot_begin(struct err *e)
{
    char *ludwig = child_beside_us("ludwig", e);
    int result = ludwig == NULL ? -1 : 0;

    if (result == 0 && has_systemd())
        result = begin_unit(ludwig, e);
    else if (result == 0 && child_is_in_path("crontab"))
        result = begin_crontab(ludwig, e);
    else if (result == 0)
        result =
            err_set(e, ERR_FAILED,
                    "nothing here starts programs at boot: neither systemd of your own (systemctl "
                    "--user) answers, nor is there crontab");
    if (result == 0)
        output_note(
            "after a reboot `ludwig up` runs by itself; `ludwig down --at-boot` undoes this");
    free(ludwig);
    return result;
}

int at_boot_end(struct err *e)
{
    int unit = end_unit(e), crontab = unit < 0 ? -1 : end_crontab(e);

    if (crontab < 0)
        return -1;
    if (unit == 0 && crontab == 0)
        output_note("nothing starts ludwig at boot here");
    return 0;
}
