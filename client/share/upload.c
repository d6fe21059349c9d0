/* SPDX-License-Identifier: MIT */
/* upload.c - brings files to the shared drive, whichever way leads there */
#include <string.h>

#include "client/share/upload_way.h"

static const char temporary_begin[] = ".tmp-";

static const struct upload_way *way_of(const struct place *to)
{
    return to->drive->mount != NULL ? &upload_mount : &upload_sftp;
}

int upload_make_project(const struct place *to, const struct folder_order *order, struct err *e)
{
    return way_of(to)->make_project(to, order, e);
}

int upload_sweep_files(const struct place *to, int64_t sweep, const struct upload_text *files,
                       size_t n, struct err *e)
{
    struct upload_sweep *u = upload_sweep_begin(to, sweep, files, n, e);

    return u == NULL ? -1 : upload_sweep_end(u, e);
}

struct upload_sweep *upload_sweep_begin(const struct place *to, int64_t sweep,
                                        const struct upload_text *files, size_t n, struct err *e)
{
    struct upload_sweep *u = way_of(to)->sweep_begin(to, sweep, files, n, e);

    if (u != NULL)
        u->way = way_of(to);
    return u;
}

int upload_sweep_end(struct upload_sweep *u, struct err *e)
{
    return u->way->sweep_end(u, e);
}

/* ---- for both ways ---- */

struct upload_modes upload_modes_of(mode_t project)
{
    mode_t folder = (project & 02777) | 0700;

    return (struct upload_modes){ .folder = folder, .file = folder & 0666 };
}

char *upload_temporary_name(void)
{
    char random[TOKEN_HEX];
    struct token token;

    token_make(&token);
    token_hex(&token, random);
    return mem_printf("%s%s", temporary_begin, random);
}

bool upload_is_temporary(const char *name)
{
    size_t n = strlen(temporary_begin);

    return strncmp(name, temporary_begin, n) == 0 && strlen(name) == n + TOKEN_HEX - 1 &&
           strspn(name + n, "0123456789abcdef") == TOKEN_HEX - 1;
}
