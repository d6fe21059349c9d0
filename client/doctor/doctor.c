/* SPDX-License-Identifier: MIT */
/* doctor.c - the table of checks, and what they said */
#include <stdarg.h>
#include <stdlib.h>

#include "client/doctor/doctor.h"
#include "common/base/mem.h"

const struct doctor_check doctor_checks[] = {
    { "config", check_config },     { "server", check_server },
    { "ssh", check_ssh },           { "way", check_way },
    { "sshd", check_sshd },         { "pilots", check_pilots },
    { "version", check_version },   { "identity", check_identity },
    { "workers", check_workers },   { "gpus", check_gpus },
    { "sftp", check_sftp },         { "share", check_share },
    { "projects", check_projects }, { "owners", check_owners },
    { "clock", check_clock },       { "leftovers", check_leftovers },
    { "state", check_state },       { "scratch", check_scratch },
    { "programs", check_programs }, { NULL, NULL },
};

const char *const check_verdict_names[CHECK_VERDICTS] = { "ok", "note", "problem" };

static const struct field finding_fields[] = {
    FIELD(struct finding, check, FIELD_STR, FIELD_REQUIRED, NAME_MAX_BYTES),
    FIELD_NAMED(struct finding, verdict, 0, check_verdict_names, CHECK_VERDICTS),
    FIELD(struct finding, found, FIELD_STR, FIELD_REQUIRED, ERR_TEXT_BYTES),
    FIELD(struct finding, advice, FIELD_STR, 0, ERR_TEXT_BYTES),
};
const struct schema finding_schema = SCHEMA(struct finding, "finding", finding_fields);

void doctor_say(struct doctor *d, enum verdict_of_check verdict, const char *advice,
                const char *found, ...)
{
    struct finding *f;
    va_list ap;
    char *text;

    va_start(ap, found);
    text = mem_vprintf(found, ap);
    va_end(ap);
    mem_grow((void **)&d->findings, &d->capacity, d->n, sizeof *d->findings);
    f = &d->findings[d->n++];
    *f = (struct finding){ .check = d->check,
                           .verdict = (int)verdict,
                           .found = arena_strdup(d->arena, text),
                           .advice = advice == NULL ? NULL : arena_strdup(d->arena, advice) };
    free(text);
}
