/* SPDX-License-Identifier: MIT */
/* jobdir.c - makes an attempt's folder on scratch */

#include "worker/runner/jobdir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/path.h"
#include "common/data/json.h"
#include "common/data/msgpack.h"
#include "common/data/yaml.h"

enum { FILE_MODE = 0640, LOG_MODE = 0600 };

static int make_dir(int dir_fd, const char *name, struct err *e)
{
    return mkdirat(dir_fd, name, JOB_DIR_MODE) < 0 ? err_sys(e, "create %s", name) : 0;
}

/* A spare folder has it already, and it is empty. */
static int have_dir(int dir_fd, const char *name, struct err *e)
{
    if (mkdirat(dir_fd, name, JOB_DIR_MODE) < 0 && errno != EEXIST)
        return err_sys(e, "create %s", name);
    return 0;
}

static int make_work(const struct jobdir *d, const struct scratch *s, const struct digest *source,
                     struct err *e)
{
    char hex[DIGEST_HEX];

    if (digest_is_zero(source))
        return have_dir(d->fd, JOB_WORK, e);
    if (unlinkat(d->fd, JOB_WORK, AT_REMOVEDIR) < 0 && errno != ENOENT)
        return err_sys(e, "replace %s", JOB_WORK);
    digest_hex(source, hex);
    if (io_copy_tree_at(s->cache_fd, hex, d->fd, JOB_WORK, e) < 0)
        return err_wrap(e, "copy the source");
    return 0;
}

static int link_data(const struct scratch *s, int data_fd, const struct data_entry *entry,
                     struct err *e)
{
    char hex[DIGEST_HEX];
    char *target;
    int result = 0;

    digest_hex(&entry->set.tree, hex);
    if (faccessat(s->cache_fd, hex, F_OK, 0) < 0)
        return err_sys(e, "data %s: %s/%s", entry->name, SCRATCH_CACHE, hex);
    if (!path_is_inside(entry->name) || path_basename(entry->name) != entry->name)
        return err_set(e, ERR_USAGE, "data %s: that is no name", entry->name);
    target = mem_printf("%s/%s/%s", s->path, SCRATCH_CACHE, hex);
    if (symlinkat(target, data_fd, entry->name) < 0)
        result = err_sys(e, "data %s", entry->name);
    free(target);
    return result;
}

static int make_data(const struct jobdir *d, const struct scratch *s, const struct list *data,
                     struct err *e)
{
    const struct data_entry *entries = data->items;
    int fd, result = 0;

    if (data->n == 0)
        return 0;
    if (make_dir(d->fd, JOB_DATA, e) < 0)
        return -1;
    fd = io_open_dir_at(d->fd, JOB_DATA, e);
    if (fd < 0)
        return -1;
    for (size_t i = 0; result == 0 && i < data->n; i++)
        result = link_data(s, fd, &entries[i], e);
    close(fd);
    return result;
}

static int write_chunk(int fd, const struct value *chunk, struct err *e)
{
    struct buf json = { 0 }, packed = { 0 };
    int result;

    json_add_pretty(&json, chunk);
    mp_add_value(&packed, chunk);
    result = scratch_put(fd, JOB_CHUNK ".json", json.bytes, json.n, FILE_MODE, e);
    if (result == 0)
        result = scratch_put(fd, JOB_CHUNK ".msgpack", packed.bytes, packed.n, FILE_MODE, e);
    buf_free(&json);
    buf_free(&packed);
    return result;
}

static int write_params(int fd, const struct order *o, const struct value *params, struct err *e)
{
    const struct bytes packed = o->assignment.params;
    struct buf json = { 0 }, yaml = { 0 };
    int result;

    json_add_pretty(&json, params);
    yaml_add_value(&yaml, params);
    result = scratch_put(fd, JOB_PARAM2VAL ".json", json.bytes, json.n, FILE_MODE, e);
    if (result == 0)
        result = scratch_put(fd, JOB_PARAM2VAL ".yaml", yaml.bytes, yaml.n, FILE_MODE, e);
    if (result == 0)
        result = scratch_put(fd, JOB_PARAM2VAL ".msgpack", packed.data, packed.n, FILE_MODE, e);
    buf_free(&json);
    buf_free(&yaml);
    return result;
}

/* A leftover would be of a runner that died between making it and saying so. */
static int make_fresh(const struct scratch *s, const char *name, struct err *e)
{
    if (mkdirat(s->run_fd, name, 0700) == 0)
        return 0;
    if (errno != EEXIST || io_remove_tree_at(s->run_fd, name, e) < 0)
        return err_sys(e, "create %s/%s", SCRATCH_RUN, name);
    return mkdirat(s->run_fd, name, 0700) < 0 ? err_sys(e, "create %s/%s", SCRATCH_RUN, name) : 0;
}

/* What a process needs to run. */
static int fill_process(struct jobdir *d, const struct scratch *s, const struct order *o,
                        struct err *e)
{
    if (make_work(d, s, &o->work.work.source.tree, e) < 0 || have_dir(d->fd, JOB_TMP, e) < 0 ||
        make_data(d, s, &o->work.work.data, e) < 0)
        return -1;
    d->work_fd = io_open_dir_at(d->fd, JOB_WORK, e);
    return d->work_fd < 0 ? -1 : 0;
}

static int fill(struct jobdir *d, const struct scratch *s, const struct order *o,
                const struct value *params, struct err *e)
{
    if (scratch_write(d->fd, JOB_ORDER, &order_schema, o, e) < 0)
        return -1;
    if (!order_is_mate(o) && fill_process(d, s, o, e) < 0)
        return -1;
    if (order_is_process(o))
        return write_chunk(d->fd, params, e);
    if (make_dir(d->fd, JOB_SAVE, e) < 0)
        return -1;
    return write_params(d->fd, o, params, e);
}

static int open_log(struct jobdir *d, const struct scratch *s, const char *name, struct err *e)
{
    d->log_fd =
        openat(s->log_fd, name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, LOG_MODE);
    return d->log_fd < 0 ? err_sys(e, "create %s/%s", SCRATCH_LOG, name) : 0;
}

static int make_in(struct jobdir *d, const struct scratch *s, int dir_fd, const char *name,
                   const struct order *o, const struct value *params, struct err *e)
{
    d->fd = io_open_dir_at(dir_fd, name, e);
    if (d->fd >= 0 && fill(d, s, o, params, e) == 0)
        return 0;
    jobdir_close(d);
    return -1;
}

/* Whole before it gets its name: in run/ nothing of an earlier attempt is ever seen. */
static int make_of_spare(struct jobdir *d, const struct scratch *s, struct spares *spares,
                         const char *hex, const struct order *o, const struct value *params)
{
    char name[TOKEN_HEX + 1];

    snprintf(name, sizeof name, ".%s", hex);
    if (!jobdir_pool_take(spares, s, name))
        return -1;
    if (make_in(d, s, s->spare_fd, name, o, params, NULL) == 0) {
        (void)renameat(d->fd, JOB_LOG, s->log_fd, hex);
        if (renameat(s->spare_fd, name, s->run_fd, hex) == 0)
            return 0;
        jobdir_close(d);
    }
    (void)io_remove_tree_at(s->spare_fd, name, NULL);
    return -1;
}

/* Last of all: a folder that could not be made takes none with it. */
static int take_checkpoint(const struct jobdir *d, const struct scratch *s, const struct order *o,
                           const char *hex, struct err *e)
{
    char *brought;
    int rc;

    if (order_is_process(o))
        return 0;
    if (o->assignment.attempt <= 1)
        return have_dir(d->fd, JOB_CHECKPOINT, e);
    brought = mem_printf("%s/%s", SCRATCH_CHECKPOINTS, hex);
    rc = renameat(s->fd, brought, d->fd, JOB_CHECKPOINT);
    if (rc < 0 && errno == ENOENT)
        rc = have_dir(d->fd, JOB_CHECKPOINT, e);
    else if (rc < 0)
        err_sys(e, "take %s", brought);
    free(brought);
    return rc;
}

/* Whatever is wrong with a spare folder is not wrong with a fresh one. */
int jobdir_make(struct jobdir *d, const struct scratch *s, struct spares *spares,
                const struct order *o, const struct value *params, struct err *e)
{
    char hex[TOKEN_HEX];

    *d = (struct jobdir){ -1, -1, -1 };
    token_hex(&o->assignment.token, hex);
    if ((order_is_process(o) || make_of_spare(d, s, spares, hex, o, params) < 0) &&
        (make_fresh(s, hex, e) < 0 || make_in(d, s, s->run_fd, hex, o, params, e) < 0))
        return -1;
    if (open_log(d, s, hex, e) == 0 && take_checkpoint(d, s, o, hex, e) == 0)
        return 0;
    jobdir_close(d);
    return -1;
}

void jobdir_close(struct jobdir *d)
{
    const int fds[] = { d->fd, d->work_fd, d->log_fd };

    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    *d = (struct jobdir){ -1, -1, -1 };
}

static int shed(const struct scratch *s, const char *token_hex, const char *name, struct err *e)
{
    char *path = mem_printf("%s/%s", token_hex, name);
    int result = jobdir_pool_is_fresh(s->run_fd, path) ? 0 : io_remove_tree_at(s->run_fd, path, e);

    free(path);
    return result;
}

int jobdir_shed(const struct scratch *s, const char *token_hex, struct err *e)
{
    int result = shed(s, token_hex, JOB_WORK, e);

    return shed(s, token_hex, JOB_TMP, e) < 0 ? -1 : result;
}
