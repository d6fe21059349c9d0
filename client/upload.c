/* SPDX-License-Identifier: MIT */
/* upload.c - brings files to the shared drive, whichever way leads there */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "client/upload_way.h"

static const char temporary_begin[] = ".tmp-";

static const struct upload_way *way_of(const struct place *to)
{
    return to->drive->mount != NULL ? &upload_mount : &upload_sftp;
}

int upload_make_project(const struct place *to, const struct folder_order *order, struct err *e)
{
    return way_of(to)->make_project(to, order, e);
}

int upload_tree(const struct place *to, const struct tree *t, struct uploadbar *bar, struct err *e)
{
    return way_of(to)->tree(to, t, bar, e);
}

bool upload_has_tree(const struct place *to, const struct digest *tree)
{
    return way_of(to)->has_tree(to, tree);
}

int upload_sweep_files(const struct place *to, int64_t sweep, const struct upload_text *files,
                       size_t n, struct err *e)
{
    return way_of(to)->sweep_files(to, sweep, files, n, e);
}

/* ---- for both ways ---- */

struct upload_modes upload_modes_of(mode_t project)
{
    mode_t folder = (project & 02777) | 0700;

    return (struct upload_modes){ .folder = folder, .file = folder & 0666 };
}

mode_t upload_file_mode(const struct upload_modes *modes, const struct tree_entry *entry)
{
    return entry->type == 'x' ? modes->folder & 0777 : modes->file;
}

int upload_open_entry(const struct tree_entry *entry, struct err *e)
{
    int fd = open(entry->from, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    return fd < 0 ? err_sys(e, "open %s", entry->from) : fd;
}

int upload_check_unchanged(const struct tree_entry *entry, int fd, uint64_t n_bytes, struct err *e)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return err_sys(e, "%s", entry->from);
    if (n_bytes != entry->size || tree_changed_at_ns(&st) != entry->changed_at_ns)
        return err_set(e, ERR_FAILED, "%s was changed while it was sent; submit again",
                       entry->from);
    return 0;
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
