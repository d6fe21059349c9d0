/* SPDX-License-Identifier: MIT */
/* registry.c - the journal of attempts that the agent was given */

#include "worker/agent/registry.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/io.h"

enum {
    BOOT_ID_MAX_BYTES = 200,
    GONE_MAX = HAND_MAX * 4,
    FILE_MAX_BYTES = 1024 * 1024 * 1024,
    WASTEFUL_BYTES = 4 * 1024 * 1024
};

enum record { RECORD_BOOT, RECORD_ASSIGNED, RECORD_GONE, RECORD_GIVEN, RECORD_COUNT };

struct boot {
    const char *id;
};
struct assigned {
    struct order order;
    bool is_stale;
};
struct gone {
    struct list tokens; /* struct token_entry */
};

static const struct field boot_fields[] = {
    FIELD(struct boot, id, FIELD_STR, FIELD_REQUIRED, BOOT_ID_MAX_BYTES),
};
static const struct field assigned_fields[] = {
    FIELD_OF(struct assigned, order, FIELD_STRUCT, FIELD_REQUIRED, 0, &order_schema),
    FIELD(struct assigned, is_stale, FIELD_BOOL, 0, 0),
};
static const struct field given_fields[] = {
    FIELD(struct given, process, FIELD_TOKEN, FIELD_REQUIRED, 0),
    FIELD(struct given, is_shared, FIELD_BOOL, 0, 0),
    FIELD(struct given, user, FIELD_STR, 0, NAME_MAX_BYTES),
    FIELD(struct given, cpus_milli, FIELD_INT, 0, INT64_MAX),
    FIELD(struct given, gpus_milli, FIELD_INT, 0, INT64_MAX),
    FIELD(struct given, memory_bytes, FIELD_INT, 0, INT64_MAX),
    FIELD_OF(struct given, cpus, FIELD_LIST, 0, ORDER_CPUS_MAX, &number_schema),
    FIELD_OF(struct given, gpus, FIELD_LIST, 0, ORDER_GPUS_MAX, &gpu_entry_schema),
    FIELD(struct given, in_slurm, FIELD_BOOL, 0, 0),
};
static const struct field gone_fields[] = {
    FIELD_OF(struct gone, tokens, FIELD_LIST, FIELD_REQUIRED, GONE_MAX, &token_entry_schema),
};
static const struct schema boot_schema = SCHEMA(struct boot, "boot", boot_fields);
static const struct schema assigned_schema = SCHEMA(struct assigned, "assigned", assigned_fields);
static const struct schema given_schema = SCHEMA(struct given, "given", given_fields);
static const struct schema gone_schema = SCHEMA(struct gone, "gone", gone_fields);

static const struct message messages[RECORD_COUNT] = {
    [RECORD_BOOT] = { "boot", &boot_schema, 0, -1 },
    [RECORD_ASSIGNED] = { "assigned", &assigned_schema, 0, -1 },
    [RECORD_GONE] = { "gone", &gone_schema, 0, -1 },
    [RECORD_GIVEN] = { "given", &given_schema, 0, -1 },
};
static const struct protocol records = { messages, RECORD_COUNT };

struct registry {
    char *path;
    int fd;
    off_t size;
    struct buf added;
    size_t n_assigned, n_gone; /* records in the file */
    size_t n_added_assigned, n_added_gone;
    bool has_forgotten;
    bool is_torn; /* after size, the file has part of a record that could not be cut off */
};

static int add_record(struct registry *r, enum record type, const void *body, struct err *e)
{
    return message_add(&r->added, &records, (int)type, 1, 0, NULL, body, e);
}

int registry_assigned(struct registry *r, const struct order *order, bool is_stale, struct err *e)
{
    struct assigned body = { *order, is_stale };

    if (add_record(r, RECORD_ASSIGNED, &body, e) < 0)
        return -1;
    r->n_added_assigned++;
    return 0;
}

int registry_given(struct registry *r, const struct given *g, struct err *e)
{
    return add_record(r, RECORD_GIVEN, g, e);
}

int registry_gone(struct registry *r, const struct token *token, struct err *e)
{
    struct token_entry entry = { *token };
    struct gone body = { { &entry, 1 } };

    if (add_record(r, RECORD_GONE, &body, e) < 0)
        return -1;
    r->n_added_gone++;
    return 0;
}

void registry_drop(struct registry *r)
{
    r->n_added_assigned = r->n_added_gone = 0;
    buf_clear(&r->added);
}

/* Cuts off what a failed write left: the next record must not follow a torn one. */
int registry_flush(struct registry *r, struct err *e)
{
    if (r->added.n == 0)
        return 0;
    if (r->is_torn && ftruncate(r->fd, r->size) < 0)
        return err_sys(e, "truncate %s", r->path);
    r->is_torn = false;
    if (io_write_all(r->fd, r->added.bytes, r->added.n) < 0) {
        err_sys(e, "write %s", r->path);
        r->is_torn = ftruncate(r->fd, r->size) < 0;
        return -1;
    }
    r->size += (off_t)r->added.n;
    r->n_assigned += r->n_added_assigned;
    r->n_gone += r->n_added_gone;
    registry_drop(r);
    return 0;
}

void registry_forget(struct registry *r)
{
    r->has_forgotten = true;
}

bool registry_is_wasteful(const struct registry *r)
{
    if (r->has_forgotten)
        return true;
    return r->size > WASTEFUL_BYTES && r->n_gone * 2 > r->n_assigned;
}

/* ---- reading ---- */

struct reading {
    const struct registry_events *events;
    void *context;
    size_t n_assigned, n_gone;
};

/* Passes a record to events.  Returns 1 if the arena was handed over, 0 if not, -1 if damaged. */
static int read_record(struct reading *in, struct bytes frame, struct arena *a, struct err *e)
{
    const struct registry_events *events = in->events;
    const struct token_entry *entries;
    const struct assigned *assigned;
    const struct gone *gone;
    const void *body;
    struct envelope m;

    if (message_read(frame, &records, a, &m, e) < 0)
        return -1;
    body = message_take_body(&records, &m, a, e);
    if (body == NULL)
        return -1;
    if (m.type == RECORD_BOOT && events->boot != NULL) {
        events->boot(in->context, ((const struct boot *)body)->id);
    } else if (m.type == RECORD_ASSIGNED) {
        assigned = body;
        in->n_assigned++;
        if (events->assigned == NULL)
            return 0;
        events->assigned(in->context, a, &assigned->order, assigned->is_stale);
        return 1;
    } else if (m.type == RECORD_GONE) {
        gone = body;
        entries = gone->tokens.items;
        for (size_t i = 0; i < gone->tokens.n; i++)
            events->gone(in->context, &entries[i].token);
        in->n_gone += gone->tokens.n;
    } else if (m.type == RECORD_GIVEN) {
        events->given(in->context, body);
    }
    return 0;
}

/* Reads the file up to the first bad record.  *n: its size; *good: the bytes before that record. */
static int read_records(const char *path, struct reading *in, size_t *good, size_t *n,
                        struct err *e)
{
    struct frame_reader frames = { .used = 0 };
    struct buf text = { 0 };
    struct bytes frame;
    int rc = 0;

    *good = 0;
    if (io_read_file(path, FILE_MAX_BYTES, &text, e) < 0) {
        buf_free(&text);
        return -1;
    }
    *n = text.n;
    frame_feed(&frames, text.bytes, text.n);
    while (rc >= 0 && frame_next(&frames, &frame, NULL) == 1) {
        struct arena *a = arena_create();
        size_t frame_n = FRAME_HEAD_BYTES + frame.n;

        rc = read_record(in, frame, a, NULL);
        if (rc != 1)
            arena_destroy(a);
        if (rc >= 0)
            *good += frame_n;
    }
    frame_reader_free(&frames);
    buf_free(&text);
    return 0;
}

int registry_scan(const char *path, const struct registry_events *events, void *context,
                  struct err *e)
{
    struct reading in = { .events = events, .context = context };
    size_t good, n;

    return read_records(path, &in, &good, &n, e);
}

struct registry *registry_open(const char *path, const struct registry_events *events,
                               void *context, struct err *e)
{
    struct registry *r = mem_alloc(sizeof *r);
    struct reading in = { .events = events, .context = context };
    size_t good, n;

    r->path = mem_strdup(path);
    r->fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (r->fd < 0) {
        err_sys(e, "open %s", path);
        goto fail;
    }
    if (read_records(path, &in, &good, &n, e) < 0)
        goto fail;
    r->size = (off_t)good;
    r->n_assigned = in.n_assigned;
    r->n_gone = in.n_gone;
    if (good == n || ftruncate(r->fd, r->size) == 0)
        return r;
    err_sys(e, "truncate %s", path);
fail:
    registry_close(r);
    return NULL;
}

void registry_close(struct registry *r)
{
    if (r == NULL)
        return;
    if (r->fd >= 0)
        close(r->fd);
    buf_free(&r->added);
    free(r->path);
    free(r);
}

/* ---- writing anew ---- */

/* The new file is renamed over the old one only when it is whole. */
int registry_rewrite(struct registry *r, const char *boot_id,
                     int (*add)(void *context, struct registry *r, struct err *e), void *context,
                     struct err *e)
{
    struct boot boot = { boot_id };
    char *temporary;
    int fd = -1, rc = -1;

    if (registry_flush(r, e) < 0)
        return -1;
    temporary = mem_printf("%s.new", r->path);
    if (add_record(r, RECORD_BOOT, &boot, e) < 0 || add(context, r, e) < 0)
        goto end;
    fd = open(temporary, O_WRONLY | O_APPEND | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) {
        err_sys(e, "open %s", temporary);
    } else if (io_write_all(fd, r->added.bytes, r->added.n) < 0) {
        err_sys(e, "write %s", temporary);
    } else if (rename(temporary, r->path) < 0) {
        err_sys(e, "rename %s", temporary);
    } else {
        int old_fd = r->fd;

        r->fd = fd;
        fd = old_fd;
        r->is_torn = r->has_forgotten = false;
        r->size = (off_t)r->added.n;
        r->n_assigned = r->n_added_assigned;
        r->n_gone = 0;
        rc = 0;
    }
end:
    if (fd >= 0)
        close(fd);
    registry_drop(r);
    free(temporary);
    return rc;
}
