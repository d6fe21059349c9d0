/* SPDX-License-Identifier: MIT */
/* cmd_doctor.c - ludwig doctor */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/doctor/doctor.h"
#include "client/term/command.h"
#include "client/term/jsonlist.h"
#include "client/term/output.h"
#include "client/term/safe_text.h"
#include "client/term/table.h"

/* INDENT: the column at which the text behind a verdict begins, also in further lines. */
enum { INDENT = 9, WIDTH_MAX = 79 };

struct options {
    bool json, clean;
};

static const struct opt options[] = {
    { "json", 0, OPT_FLAG, NULL, offsetof(struct options, json), 0, 0, "print JSON" },
    { "clean", 0, OPT_FLAG, NULL, offsetof(struct options, clean), 0, 0,
      "remove what killed pilots have left on this machine" },
    { 0 },
};

static void add_finding(struct buf *out, const struct finding *f)
{
    static const char *const colours[CHECK_VERDICTS] = { "32", "36", "31" };
    const char *verdict = check_verdict_names[f->verdict];
    size_t columns = output_columns(STDOUT_FILENO);
    struct buf line = { 0 };

    buf_printf(&line, "%s: %s", f->check, f->found);
    if (f->advice != NULL)
        buf_printf(&line, "; %s", f->advice);
    safe_text_clean(&line, "");
    if (output_has_colour(STDOUT_FILENO))
        buf_printf(out, "\033[%sm%s\033[0m", colours[f->verdict], verdict);
    else
        buf_add_str(out, verdict);
    buf_printf(out, "%*s", (int)(INDENT - strlen(verdict)), "");
    /* Long lines are hard to read on a wide terminal, too. */
    if (output_is_terminal(STDOUT_FILENO))
        opt_add_wrapped_to(out, columns < WIDTH_MAX ? columns : WIDTH_MAX, INDENT, INDENT,
                           buf_text(&line));
    else
        buf_printf(out, "%s\n", buf_text(&line));
    buf_free(&line);
}

static int diagnose(struct cli *cli, struct err *e)
{
#define X(name, question) { #name, check_##name },
    static const struct {
        const char *name;
        void (*run)(struct doctor *d);
    } checks[] = { DOCTOR_CHECKS(X) };
#undef X
    const struct options *o = cli->options;
    struct doctor d = { .arena = cli->arena, .server_option = cli->server };
    struct buf out = { 0 };
    int result;

    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        d.check = checks[i].name;
        checks[i].run(&d);
    }
    if (o->clean) {
        d.check = "clean";
        doctor_clean(&d);
    }
    for (size_t i = 0; i < d.n && !o->json; i++)
        add_finding(&out, &d.findings[i]);
    result = o->json
                 ? jsonlist_write("checks", &finding_schema, &(struct list){ d.findings, d.n }, e)
                 : output_write(&out, e);
    for (size_t i = 0; i < d.n && result == EXIT_WELL; i++)
        if (d.findings[i].verdict == CHECK_PROBLEM)
            result = EXIT_FAILED;
    sftp_close(d.sftp);
    rpc_close(&d.rpc);
    free(d.findings);
    return result;
}

const struct command cmd_doctor = {
    .name = "doctor",
    .args = "[OPTION]...",
    .help = "find out what keeps ludwig from working, and say what to do",
    .more = "Looks at the configuration, the server, the workers, the shared drive and this\n"
            "machine. Each line is ok, a note, or a problem; with a problem it exits 1.\n"
            "Nothing is started or changed, except for a test file on the shared drive and,\n"
            "with --clean, for folders in scratch of pilots that were killed: results in\n"
            "them are published, then they are removed.\n"
            "\n"
            "  ludwig doctor\n"
            "  ludwig --server unix:/srv/lab/.ludwig/server.sock doctor\n",
    .options = options,
    .options_size = sizeof(struct options),
    .run = diagnose,
};
