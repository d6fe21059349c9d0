/* SPDX-License-Identifier: MIT */
/* jobdir.c - makes an attempt's folder on scratch */

#include "worker/runner/jobdir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/path.h"
#include "common/data/json.h"
#include "common/data/msgpack.h"
#include "common/data/yaml.h"

enum { FILE_MODE = 0640, LOG_MODE = 0600 };

/* Makes the folder, unless a spare folder has it already; then it is empty. */
static int have_dir(int dir_fd, const char *name, struct err *e)
{
    if (mkdirat(dir_fd, name, JOB_DIR_MODE) < 0 && errno != EEXIST)
        return err_sys(e, "create %s", name);
    return 0;
}

static int put_file(int dir_fd, const char *name, struct bytes content, struct err *e)
{
    return scratch_put(dir_fd, name, content.data, content.n, FILE_MODE, e);
}

/* Makes data/ with links to the trees in the cache. */
static int make_data(const struct jobdir *d, const struct scratch *s, const struct list *data,
                     struct err *e)
{
    const struct data_entry *entries = data->items;
    int fd, result = 0;

    if (data->n == 0)
        return 0;
    if (mkdirat(d->fd, JOB_DATA, JOB_DIR_MODE) < 0)
        return err_sys(e, "create %s", JOB_DATA);
    fd = io_open_dir_at(d->fd, JOB_DATA, e);
    if (fd < 0)
        return -1;
    for (size_t i = 0; result == 0 && i < data->n; i++) {
        const char *name = entries[i].name;
        char hex[DIGEST_HEX], *target;

        digest_hex(&entries[i].set.tree, hex);
        target = mem_printf("%s/%s/%s", s->path, SCRATCH_CACHE, hex);
        if (faccessat(s->cache_fd, hex, F_OK, 0) < 0)
            result = err_sys(e, "data %s: %s/%s", name, SCRATCH_CACHE, hex);
        else if (!path_is_inside(name) || path_basename(name) != name)
            result = err_set(e, ERR_USAGE, "data %s: that is no name", name);
        else if (symlinkat(target, fd, name) < 0)
            result = err_sys(e, "data %s", name);
        free(target);
    }
    close(fd);
    return result;
}

/* Links a path in work/ to what is in data/: relatively, so that it holds in a container as well. */
static int link_data(const struct jobdir *d, const struct data_entry *entry, struct err *e)
{
    int fd = fcntl(d->work_fd, F_DUPFD_CLOEXEC, 0), result = -1;
    struct buf target = { 0 };
    const char *at = entry->link;

    /* Follows no symlink of the source, as it may lead anywhere. */
    for (size_t n; fd >= 0 && at[n = strcspn(at, "/")] == '/'; at += n + 1) {
        char *name = mem_strndup(at, n);
        int above = fd;

        fd = mkdirat(above, name, JOB_DIR_MODE) < 0 && errno != EEXIST
                 ? -1
                 : openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
            err_sys(e, "data %s", entry->link);
        close(above);
        free(name);
        buf_add_str(&target, "../");
    }
    buf_printf(&target, "../" JOB_DATA "/%s", entry->name);
    if (fd >= 0 && symlinkat(buf_text(&target), fd, at) == 0)
        result = 0;
    else if (fd >= 0 && errno == EEXIST)
        err_set(e, ERR_USAGE, "data: %s is in the source already", entry->link);
    else if (fd >= 0)
        err_sys(e, "data %s", entry->link);
    if (fd >= 0)
        close(fd);
    buf_free(&target);
    return result;
}

/* Makes what a process needs to run: work/ with the source, tmp/, data/. */
static int make_process_folders(struct jobdir *d, const struct scratch *s, const struct order *o,
                                struct err *e)
{
    const struct digest *source = &o->work.work.source.tree;
    const struct data_entry *data = o->work.work.data.items;
    char hex[DIGEST_HEX];

    if (digest_is_zero(source)) {
        if (have_dir(d->fd, JOB_WORK, e) < 0)
            return -1;
    } else {
        digest_hex(source, hex);
        if (unlinkat(d->fd, JOB_WORK, AT_REMOVEDIR) < 0 && errno != ENOENT)
            return err_sys(e, "replace %s", JOB_WORK);
        if (io_copy_tree_at(s->cache_fd, hex, d->fd, JOB_WORK, e) < 0)
            return err_wrap(e, "copy the source");
    }
    if (have_dir(d->fd, JOB_TMP, e) < 0 || make_data(d, s, &o->work.work.data, e) < 0)
        return -1;
    d->work_fd = io_open_dir_at(d->fd, JOB_WORK, e);
    if (d->work_fd < 0)
        return -1;
    for (size_t i = 0; i < o->work.work.data.n; i++)
        if (data[i].link != NULL && link_data(d, &data[i], e) < 0)
            return -1;
    return 0;
}

/* Writes the parameters in JSON, YAML and msgpack; the chunk of a batch in JSON and msgpack. */
static int write_params(int fd, const struct order *o, const struct value *params, struct err *e)
{
    bool is_chunk = order_is_process(o);
    struct buf json = { 0 }, yaml = { 0 }, packed = { 0 };
    int result;

    json_add_pretty(&json, params);
    if (is_chunk) {
        mp_add_value(&packed, params);
        result = put_file(fd, JOB_CHUNK ".json", buf_bytes(&json), e);
        if (result == 0)
            result = put_file(fd, JOB_CHUNK ".msgpack", buf_bytes(&packed), e);
    } else {
        yaml_add_value(&yaml, params);
        result = put_file(fd, JOB_PARAM2VAL ".json", buf_bytes(&json), e);
        if (result == 0)
            result = put_file(fd, JOB_PARAM2VAL ".yaml", buf_bytes(&yaml), e);
        if (result == 0)
            result = put_file(fd, JOB_PARAM2VAL ".msgpack", o->assignment.params, e);
    }
    buf_free(&json);
    buf_free(&yaml);
    buf_free(&packed);
    return result;
}

/* Fills the folder dir_fd/name, which exists, and opens it and its work/ in *d. */
static int fill_jobdir(struct jobdir *d, const struct scratch *s, int dir_fd, const char *name,
                       const struct order *o, const struct value *params, struct err *e)
{
    const struct order kept = order_without_passed(o);
    int result = -1;

    d->fd = io_open_dir_at(dir_fd, name, e);
    if (d->fd >= 0)
        result = scratch_write(d->fd, JOB_ORDER, &order_schema, &kept, e);
    if (result == 0 && !order_is_mate(o))
        result = make_process_folders(d, s, o, e);
    if (result == 0 && !order_is_process(o) && mkdirat(d->fd, JOB_SAVE, JOB_DIR_MODE) < 0)
        result = err_sys(e, "create %s", JOB_SAVE);
    if (result == 0)
        result = write_params(d->fd, o, params, e);
    if (result < 0)
        jobdir_close(d);
    return result;
}

int jobdir_make(struct jobdir *d, const struct scratch *s, struct spares *spares,
                const struct order *o, const struct value *params, struct err *e)
{
    const int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW;
    char hex[TOKEN_HEX], hidden[TOKEN_HEX + 1], *brought;
    bool is_made = false;
    int rc;

    *d = (struct jobdir){ -1, -1, -1 };
    token_hex(&o->assignment.token, hex);
    snprintf(hidden, sizeof hidden, ".%s", hex);
    /* A spare folder is filled before it moves to run/, so that nothing of an earlier attempt is
     * ever seen there.  If anything goes wrong with it, a fresh folder is made instead. */
    if (!order_is_process(o) && scratch_take_spare(spares, s, hidden)) {
        if (fill_jobdir(d, s, s->spare_fd, hidden, o, params, NULL) == 0) {
            (void)renameat(d->fd, JOB_LOG, s->log_fd, hex);
            is_made = renameat(s->spare_fd, hidden, s->run_fd, hex) == 0;
        }
        if (!is_made) {
            jobdir_close(d);
            (void)io_remove_tree_at(s->spare_fd, hidden, NULL);
        }
    }
    if (!is_made) {
        rc = mkdirat(s->run_fd, hex, 0700);
        /* A folder that exists is of a runner that died between making it and saying so. */
        if (rc < 0 && errno == EEXIST && io_remove_tree_at(s->run_fd, hex, e) == 0)
            rc = mkdirat(s->run_fd, hex, 0700);
        if (rc < 0)
            return err_sys(e, "create %s/%s", SCRATCH_RUN, hex);
        if (fill_jobdir(d, s, s->run_fd, hex, o, params, e) < 0)
            return -1;
    }
    d->log_fd = openat(s->log_fd, hex, flags, LOG_MODE);
    rc = d->log_fd < 0 ? err_sys(e, "create %s/%s", SCRATCH_LOG, hex) : 0;
    /* The checkpoint moves in last: if the folder cannot be made, it stays where it was brought. */
    if (rc == 0 && !order_is_process(o)) {
        brought = mem_printf("%s/%s", SCRATCH_CHECKPOINTS, hex);
        if (order_goes_on(o))
            rc = renameat(s->fd, brought, d->fd, JOB_CHECKPOINT);
        if (!order_goes_on(o) || (rc < 0 && errno == ENOENT))
            rc = have_dir(d->fd, JOB_CHECKPOINT, e);
        else if (rc < 0)
            err_sys(e, "take %s", brought);
        free(brought);
    }
    if (rc < 0)
        jobdir_close(d);
    return rc;
}

void jobdir_close(struct jobdir *d)
{
    const int fds[] = { d->fd, d->work_fd, d->log_fd };

    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    *d = (struct jobdir){ -1, -1, -1 };
}

int jobdir_shed(const struct scratch *s, const char *token_hex, struct err *e)
{
    static const char *const names[] = { JOB_WORK, JOB_TMP };
    int result = 0;

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char *path = mem_printf("%s/%s", token_hex, names[i]);

        if (!scratch_is_fresh_dir(s->run_fd, path) && io_remove_tree_at(s->run_fd, path, e) < 0)
            result = -1;
        free(path);
    }
    return result;
}
