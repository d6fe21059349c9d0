/* SPDX-License-Identifier: MIT */
/* logfile.c - copies a job's log to stdout */
#include <stdlib.h>
#include <string.h>

#include "client/share/logfile.h"
#include "client/term/output.h"
#include "client/term/safe_text.h"
#include "common/proto/layout.h"

enum { PIECE_BYTES = 64 * 1024 };

/* All logs of a job lie in one folder. */
char *logfile_path(const struct job_info *info, int64_t sweep, int64_t attempt)
{
    const char *rest = strstr(info->log_path, "/logs/"), *next;
    struct buf path = { 0 };
    char *project;

    if (rest == NULL)
        return mem_strdup(info->log_path);
    while ((next = strstr(rest + 1, "/logs/")) != NULL)
        rest = next;
    project = mem_strndup(info->log_path, (size_t)(rest - info->log_path));
    layout_log(&path, project, sweep, info->param_name, info->job_name, attempt);
    free(project);
    return buf_take(&path);
}

int logfile_open(struct logfile *l, struct share_dir *fs, const char *path, bool harmless,
                 struct err *e)
{
    *l = (struct logfile){ .harmless = harmless };
    return logfile_reopen(l, fs, path, e) < 0 ? -1 : l->file != NULL;
}

int logfile_reopen(struct logfile *l, struct share_dir *fs, const char *path, struct err *e)
{
    struct err why = { 0 };
    struct share_input *file = share_open_input(fs, path, 0, &why);

    if (file == NULL)
        return why.kind == ERR_NOT_FOUND ? 0 : err_set(e, why.kind, "%s", why.text);
    share_close_input(l->file);
    l->file = file;
    share_seek_input(l->file, l->offset);
    return 0;
}

void logfile_pause(struct logfile *l)
{
    share_close_input(l->file);
    l->file = NULL;
}

void logfile_close(struct logfile *l)
{
    logfile_pause(l);
    buf_free(&l->rest);
    l->offset = 0;
}

int logfile_seek_lines(struct logfile *l, int64_t n, struct err *e)
{
    char bytes[PIECE_BYTES] = "";
    int64_t size, begin, left = n;

    if (share_input_size(l->file, &size, e) < 0)
        return -1;
    begin = size;
    while (begin > 0 && left > 0) {
        size_t take = begin < PIECE_BYTES ? (size_t)begin : PIECE_BYTES;
        ssize_t got;

        begin -= (int64_t)take;
        share_seek_input(l->file, begin);
        got = share_read_input(l->file, bytes, take, e);
        if (got < 0)
            return -1;
        if (got != (ssize_t)take)
            return err_set(e, ERR_FAILED, "the log became shorter while it was read");
        for (size_t i = take; i-- > 0 && left > 0;) {
            bool ends_file = begin + (int64_t)i == size - 1;

            if (bytes[i] == '\n' && !ends_file && --left == 0)
                begin += (int64_t)i + 1;
        }
    }
    l->offset = begin;
    share_seek_input(l->file, l->offset);
    return 0;
}

static int write_harmless(struct logfile *l, size_t whole, struct err *e)
{
    struct buf out = { 0 };

    safe_text_add_harmless(&out, buf_text(&l->rest), whole, "\n\t\r");
    buf_drop_front(&l->rest, whole);
    return output_write(&out, e);
}

int logfile_copy(struct logfile *l, struct err *e)
{
    char bytes[PIECE_BYTES];
    ssize_t n;

    while ((n = share_read_input(l->file, bytes, sizeof bytes, e)) > 0) {
        struct buf out = { 0 };

        l->offset += n;
        buf_add(l->harmless ? &l->rest : &out, bytes, (size_t)n);
        if (l->harmless ? write_harmless(l, safe_text_whole(buf_text(&l->rest), l->rest.n), e) < 0
                        : output_write(&out, e) < 0)
            return -1;
    }
    return n < 0 ? -1 : 0;
}

int logfile_finish(struct logfile *l, struct err *e)
{
    return l->rest.n == 0 ? 0 : write_harmless(l, l->rest.n, e);
}
