/* SPDX-License-Identifier: MIT */
/* tensorboard.c - writes a sweep as event files of TensorBoard: results --tensorboard */
#include "client/export/tensorboard.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "client/export/folder.h"
#include "client/term/output.h"
#include "common/base/path.h"
#include "common/base/utf8.h"

/* ---- TFRecord: length, its checksum, content, its checksum ---- */

/* Returns the CRC-32C, the checksum of TensorFlow's files. */
static uint32_t crc32c(const uint8_t *bytes, size_t n)
{
    uint32_t crc = UINT32_MAX;

    for (size_t i = 0; i < n; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78 : 0);
    }
    return ~crc;
}

static void add_fixed(struct buf *out, uint64_t number, size_t n_bytes)
{
    for (size_t i = 0; i < n_bytes; i++)
        buf_add_char(out, (char)(number >> (8 * i)));
}

/* Adds the checksum as TensorFlow masks it, so that checksums of data with checksums work, too. */
static void add_checksum(struct buf *out, const uint8_t *bytes, size_t n)
{
    uint32_t crc = crc32c(bytes, n);

    add_fixed(out, (uint32_t)(((crc >> 15) | (crc << 17)) + 0xa282ead8), 4);
}

void tensorboard_add_record(struct buf *out, const struct buf *content)
{
    size_t at = out->n;

    add_fixed(out, content->n, 8);
    add_checksum(out, out->bytes + at, 8);
    buf_add(out, content->bytes, content->n);
    add_checksum(out, content->bytes, content->n);
}

/* ---- protocol buffers: the part that is needed here ---- */

enum wire_type { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

static void add_varint(struct buf *out, uint64_t number)
{
    for (; number >= 0x80; number >>= 7)
        buf_add_char(out, (char)(number | 0x80));
    buf_add_char(out, (char)number);
}

static void add_tag(struct buf *out, int field, enum wire_type type)
{
    add_varint(out, (uint64_t)field << 3 | type);
}

static void add_int(struct buf *out, int field, int64_t number)
{
    add_tag(out, field, WIRE_VARINT);
    add_varint(out, (uint64_t)number);
}

static void add_double(struct buf *out, int field, double number)
{
    uint64_t bits;

    memcpy(&bits, &number, sizeof bits);
    add_tag(out, field, WIRE_64);
    add_fixed(out, bits, 8);
}

static void add_float(struct buf *out, int field, double number)
{
    float narrow = (float)number; /* a number that is too large becomes infinity */
    uint32_t bits;

    memcpy(&bits, &narrow, sizeof bits);
    add_tag(out, field, WIRE_32);
    add_fixed(out, bits, 4);
}

static void add_bytes(struct buf *out, int field, const void *bytes, size_t n)
{
    add_tag(out, field, WIRE_BYTES);
    add_varint(out, n);
    buf_add(out, bytes, n);
}

/* Adds text as valid UTF-8: readers refuse other text. */
static void add_text(struct buf *out, int field, const char *text)
{
    struct buf clean = { 0 };
    size_t n = strlen(text);

    for (size_t i = 0; i < n;) {
        uint32_t character;
        size_t bytes = utf8_next(text + i, n - i, &character);

        if (bytes == 0)
            buf_add_char(&clean, '?');
        else
            buf_add(&clean, text + i, bytes);
        i += bytes == 0 ? 1 : bytes;
    }
    add_bytes(out, field, buf_text(&clean), clean.n);
    buf_free(&clean);
}

/* Adds the part as a field, and frees it. */
static void add_part(struct buf *out, int field, struct buf *part)
{
    add_bytes(out, field, buf_text(part), part->n);
    buf_free(part);
}

/* ---- events (tensorflow/core/util/event.proto, framework/summary.proto) ---- */

static void add_event(struct buf *out, int64_t at_ms, int64_t step, int field, struct buf *what)
{
    struct buf event = { 0 };

    add_double(&event, 1, (double)at_ms / 1000);
    if (step != 0)
        add_int(&event, 2, step);
    add_part(&event, field, what);
    tensorboard_add_record(out, &event);
    buf_free(&event);
}

static void add_version(struct buf *out, int64_t at_ms)
{
    struct buf version = { 0 };

    buf_add_str(&version, "brain.Event:2");
    add_event(out, at_ms, 0, 3, &version);
}

static void add_scalar(struct buf *out, int64_t at_ms, int64_t step, const char *tag, double number)
{
    struct buf value = { 0 }, summary = { 0 };

    add_text(&value, 1, tag);
    add_float(&value, 2, number);
    add_part(&summary, 1, &value);
    add_event(out, at_ms, step, 5, &summary);
}

/* ---- the HPARAMS tab (tensorboard/plugins/hparams/plugin_data.proto) ---- */

enum plugin_data { SESSION_START = 3, SESSION_END = 4 };
enum session_status { SESSION_SUCCESS = 1, SESSION_FAILURE = 2, SESSION_RUNNING = 3 };

static void add_plugin_data(struct buf *out, int64_t at_ms, const char *tag, enum plugin_data field,
                            struct buf *data)
{
    static const uint8_t no_tensor[] = { 0x08, 0x01, 0x12, 0x04, 0x12, 0x02, 0x08,
                                         0x01, 0x2a, 0x04, 0,    0,    0,    0 };
    struct buf content = { 0 }, plugin = { 0 }, metadata = { 0 }, value = { 0 }, summary = { 0 };

    add_part(&content, (int)field, data);
    add_text(&plugin, 1, "hparams");
    add_part(&plugin, 2, &content);
    add_part(&metadata, 1, &plugin);
    add_text(&value, 1, tag);
    add_bytes(&value, 8, no_tensor, sizeof no_tensor);
    add_part(&value, 9, &metadata);
    add_part(&summary, 1, &value);
    add_event(out, at_ms, 0, 5, &summary);
}

/* Adds a google.protobuf.Value. */
static void add_value(struct buf *out, const struct value *v)
{
    struct buf text = { 0 };

    if (v->type == VALUE_BOOL) {
        add_int(out, 4, v->b);
    } else if (v->type == VALUE_INT || (v->type == VALUE_FLOAT && isfinite(v->f))) {
        add_double(out, 2, v->type == VALUE_INT ? (double)v->i : v->f);
    } else {
        export_add_value(&text, v);
        add_text(out, 3, buf_text(&text));
    }
    buf_free(&text);
}

static void add_params(struct buf *out, const struct gathered *g, const struct gathered_job *job)
{
    const struct config_result *c = &g->aggregate->configs[job->config];
    struct buf start = { 0 }, end = { 0 };
    bool is_over = job_is_ended((enum job_state)job->result.state);

    for (size_t i = 0; i < c->params.map.n; i++) {
        struct buf entry = { 0 }, value = { 0 };

        add_text(&entry, 1, c->params.map.members[i].key.str.s);
        add_value(&value, &c->params.map.members[i].value);
        add_part(&entry, 2, &value);
        add_part(&start, 1, &entry);
    }
    add_text(&start, 4, c->param_name);
    add_double(&start, 5, (double)job->started_at / 1000);
    add_plugin_data(out, job->started_at, "_hparams_/session_start_info", SESSION_START, &start);
    add_int(&end, 1,
            !is_over                       ? SESSION_RUNNING
            : job->result.run_path != NULL ? SESSION_SUCCESS
                                           : SESSION_FAILURE);
    add_double(&end, 2, (double)job->ended_at / 1000);
    add_plugin_data(out, job->ended_at, "_hparams_/session_end_info", SESSION_END, &end);
}

int tensorboard_write(struct gathered *g, const char *dir, struct err *e)
{
    size_t *at = export_series_index(g), n_runs = 0;
    int result = export_folder_begin(dir, "tensorboard", e);

    for (size_t i = 0; i < g->n_jobs && result == 0; i++) {
        const struct gathered_job *job = &g->jobs[i];
        char *folder = path_join(dir, job->result.job);
        char *name = mem_printf("events.out.tfevents.%" PRId64 ".ludwig", job->started_at / 1000);
        struct export_series s;
        struct buf out = { 0 };

        add_version(&out, job->started_at);
        add_params(&out, g, job);
        while (export_series_next(g, i, &at[i], &s))
            for (size_t k = 0; k < s.n; k++)
                add_scalar(&out, export_time_ms(job, &s, k), export_step(&s, k), s.metric,
                           s.points[k].value);
        if (!path_is_portable_name(job->result.job))
            result = err_set(e, ERR_PROTOCOL, "a job cannot be called '%s'", job->result.job);
        else if (export_folder_renew(folder, e) < 0 || export_file(folder, name, &out, e) < 0)
            result = -1;
        n_runs++;
        buf_free(&out);
        free(folder);
        free(name);
    }
    if (result == 0)
        output_note("%s: %zu run%s; look at them with: tensorboard --logdir %s", dir, n_runs,
                    n_runs == 1 ? "" : "s", dir);
    return result;
}
