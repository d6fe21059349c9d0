/* SPDX-License-Identifier: MIT */
/* journal.c - how far an upload has come, for the try that goes on with it */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "client/conf.h"
#include "client/journal.h"
#include "client/unixsocket.h"
#include "client/upload_way.h"
#include "common/io.h"
#include "common/path.h"

enum { MAX_BYTES = 256 * 1024 * 1024 };

static const char first_line[] = "ludwig upload 1";

struct journal {
    char *path; /* NULL: in memory alone */
    int fd;     /* the file, locked; -1 */
    char *temporary;
    bool is_resumed;
    size_t n;
    bool *whole;
    uint64_t *bytes;
};

/* ---- the file ---- */

static void stop_keeping(struct journal *j)
{
    if (j->path == NULL)
        return;
    (void)unlink(j->path);
    close(j->fd);
    free(j->path);
    j->path = NULL;
    j->fd = -1;
}

/* A journal that cannot be written is none: what it has might be taken for all. */
static void append(struct journal *j, const struct buf *text)
{
    if (j->path != NULL && io_write_all(j->fd, text->bytes, text->n) < 0)
        stop_keeping(j);
}

static void begin_file(struct journal *j)
{
    struct buf text = { 0 };
    char *host;

    if (j->path == NULL)
        return;
    host = unixsocket_host();
    buf_printf(&text, "%s\nhost %s\ntemporary %s\n", first_line, host, j->temporary);
    free(host);
    if (ftruncate(j->fd, 0) < 0 || lseek(j->fd, 0, SEEK_SET) < 0)
        stop_keeping(j);
    append(j, &text);
    buf_free(&text);
}

/* ---- reading it ---- */

/* The line's number n of what is in the tree, and what follows it. */
static bool read_numbers(const struct journal *j, const char *line, size_t *i, uint64_t *bytes)
{
    char *end;
    unsigned long long n = strtoull(line, &end, 10);

    if (end == line || n >= j->n)
        return false;
    *i = (size_t)n;
    *bytes = *end == ' ' ? strtoull(end + 1, &end, 10) : 0;
    return *end == '\0';
}

static bool take_line(struct journal *j, const char *line)
{
    uint64_t bytes;
    size_t i;

    if (line[0] == '\0' || line[1] != ' ' || !read_numbers(j, line + 2, &i, &bytes))
        return false;
    switch (line[0]) {
    case 'f': j->whole[i] = true; return true;
    case 'b': j->bytes[i] = bytes; return true;
    case '-':
        j->whole[i] = false;
        j->bytes[i] = 0;
        return true;
    }
    return false;
}

/* The next line; NULL: there is no whole one. */
static char *cut_line(char **rest)
{
    char *line = *rest, *end = strchr(line, '\n');

    if (end == NULL)
        return NULL;
    *end = '\0';
    *rest = end + 1;
    return line;
}

static bool take_head(struct journal *j, char **rest)
{
    const char *first = cut_line(rest), *host = first == NULL ? NULL : cut_line(rest);
    const char *temporary = host == NULL ? NULL : cut_line(rest);
    char *own = unixsocket_host();
    bool is_ours = temporary != NULL && strcmp(first, first_line) == 0 &&
                   strncmp(host, "host ", 5) == 0 && strcmp(host + 5, own) == 0 &&
                   strncmp(temporary, "temporary ", 10) == 0 && upload_is_temporary(temporary + 10);

    free(own);
    if (!is_ours)
        return false;
    free(j->temporary);
    j->temporary = mem_strdup(temporary + 10);
    return true;
}

/* What is damaged or cut off ends it, and goes: the rest is sent again. */
static void read_file(struct journal *j)
{
    struct buf text = { 0 };
    size_t n_sound = 0;
    char *rest, *line;

    if (io_read_file(j->path, MAX_BYTES, &text, NULL) == 0 && text.n > 0) {
        rest = (char *)text.bytes;
        j->is_resumed = take_head(j, &rest);
        do
            n_sound = (size_t)(rest - (char *)text.bytes);
        while (j->is_resumed && (line = cut_line(&rest)) != NULL && take_line(j, line));
    }
    buf_free(&text);
    if (j->is_resumed && (ftruncate(j->fd, (off_t)n_sound) < 0 || lseek(j->fd, 0, SEEK_END) < 0))
        stop_keeping(j);
}

/* ---- the folder of all ---- */

static char *folder(void)
{
    char *state = conf_state_dir(), *path = path_join(state, "uploads");

    free(state);
    return path;
}

static char *file_path(const char *dir, const char *server_id, const char *project,
                       const struct digest *tree)
{
    char hex[DIGEST_HEX];
    struct hasher *h = hasher_create();
    struct digest key;

    hasher_add(h, server_id, strlen(server_id) + 1);
    hasher_add(h, project, strlen(project) + 1);
    hasher_add(h, tree->bytes, DIGEST_BYTES);
    hasher_end(h, &key);
    hasher_destroy(h);
    digest_hex(&key, hex);
    return path_join(dir, hex);
}

/* Nobody went on with these; what they were about is swept on the share. */
static void remove_old(const char *dir)
{
    DIR *d = opendir(dir);
    struct dirent *entry;
    struct stat st;

    while (d != NULL && (entry = readdir(d)) != NULL)
        if (strlen(entry->d_name) == DIGEST_HEX - 1 &&
            fstatat(dirfd(d), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            time(NULL) - st.st_mtime > LEFTOVER_AGE_S)
            (void)unlinkat(dirfd(d), entry->d_name, 0);
    if (d != NULL)
        closedir(d);
}

/* ---- opening and closing ---- */

static void open_file(struct journal *j, const char *server_id, const char *project,
                      const struct digest *tree)
{
    char *dir = folder();

    if (io_make_dirs(dir, 0700, NULL) == 0) {
        remove_old(dir);
        j->path = file_path(dir, server_id, project, tree);
        j->fd = io_lock_file(j->path, NULL);
    }
    if (j->fd < 0) {
        free(j->path);
        j->path = NULL;
    }
    free(dir);
}

struct journal *journal_open(const char *server_id, const char *project, const struct digest *tree,
                             size_t n)
{
    struct journal *j = mem_alloc(sizeof *j);

    *j = (struct journal){ .fd = -1,
                           .n = n,
                           .temporary = upload_temporary_name(),
                           .whole = mem_alloc(n * sizeof *j->whole),
                           .bytes = mem_alloc(n * sizeof *j->bytes) };
    open_file(j, server_id, project, tree);
    if (j->path != NULL)
        read_file(j);
    if (!j->is_resumed)
        begin_file(j);
    return j;
}

void journal_close(struct journal *j, bool is_finished)
{
    if (is_finished)
        stop_keeping(j);
    if (j->fd >= 0)
        close(j->fd);
    free(j->path);
    free(j->temporary);
    free(j->whole);
    free(j->bytes);
    free(j);
}

void journal_restart(struct journal *j)
{
    free(j->temporary);
    j->temporary = upload_temporary_name();
    j->is_resumed = false;
    memset(j->whole, 0, j->n * sizeof *j->whole);
    memset(j->bytes, 0, j->n * sizeof *j->bytes);
    begin_file(j);
}

const char *journal_temporary(const struct journal *j)
{
    return j->temporary;
}

bool journal_is_resumed(const struct journal *j)
{
    return j->is_resumed;
}

bool journal_is_kept(const struct journal *j)
{
    return j->path != NULL;
}

/* ---- entries ---- */

static void note(struct journal *j, char what, size_t i, uint64_t bytes)
{
    struct buf line = { 0 };

    buf_printf(&line, "%c %zu", what, i);
    if (what == 'b')
        buf_printf(&line, " %" PRIu64, bytes);
    buf_add_char(&line, '\n');
    append(j, &line);
    buf_free(&line);
}

void journal_add(struct journal *j, size_t i)
{
    j->whole[i] = true;
    note(j, 'f', i, 0);
}

void journal_drop(struct journal *j, size_t i)
{
    j->whole[i] = false;
    j->bytes[i] = 0;
    note(j, '-', i, 0);
}

bool journal_has(const struct journal *j, size_t i)
{
    return j->whole[i];
}

void journal_add_bytes(struct journal *j, size_t i, uint64_t bytes)
{
    j->bytes[i] = bytes;
    note(j, 'b', i, bytes);
}

uint64_t journal_bytes(const struct journal *j, size_t i)
{
    return j->bytes[i];
}
