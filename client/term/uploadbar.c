/* SPDX-License-Identifier: MIT */
/* uploadbar.c - how far an upload is, in one line of the terminal that is written anew */
#include <inttypes.h>
#include <unistd.h>

#include "client/term/output.h"
#include "client/term/progress.h"
#include "client/term/safe_text.h"
#include "client/term/uploadbar.h"
#include "common/base/io.h"
#include "common/base/units.h"

/* A rate of less than SURE_MS of sending says nothing yet. */
enum { SHOW_EVERY_MS = 100, BAR_NEEDS = 90, SURE_MS = 500, TELL_EVERY_MS = 1000 };

static void add_rate(struct buf *out, const struct uploadbar *b, int64_t now_ms)
{
    double took_s = (double)(now_ms - b->began_at_ms) / 1000;
    double rate = took_s > 0 ? (double)b->bytes / took_s : 0;
    uint64_t left = b->all_bytes > b->bytes ? b->all_bytes - b->bytes : 0;
    double left_ms = rate > 0 ? (double)left / rate * 1000 : 0;

    if (now_ms - b->began_at_ms < SURE_MS || rate < 1 || left_ms > 1e12)
        return;
    buf_add_str(out, ", ");
    units_add_size(out, (int64_t)rate);
    buf_add_str(out, "/s");
    if (left == 0)
        return;
    buf_add_str(out, ", about ");
    units_add_duration(out, left_ms < 1000 ? 1000 : (int64_t)left_ms / 1000 * 1000);
    buf_add_str(out, " left");
}

void uploadbar_add_line(struct buf *out, const struct uploadbar *b, int64_t now_ms, size_t columns)
{
    size_t begin = out->n;

    buf_add_str(out, "upload ");
    if (columns >= BAR_NEEDS)
        progress_add_bar(out, (int64_t)(b->bytes / 1024), (int64_t)(b->all_bytes / 1024));
    units_add_size(out, (int64_t)b->bytes);
    buf_add_str(out, " of ");
    units_add_size(out, (int64_t)b->all_bytes);
    add_rate(out, b, now_ms);
    if (b->all_files > 1)
        buf_printf(out, ", %" PRIu64 " of %" PRIu64 " files", b->files, b->all_files);
    out->n = begin + safe_text_fitting((const char *)out->bytes + begin, out->n - begin, columns);
    out->bytes[out->n] = '\0';
}

static void write_line(struct buf *line)
{
    (void)!io_write_all(STDERR_FILENO, buf_text(line), line->n);
    buf_free(line);
}

/* One that is gone shows when there is something to be told that matters. */
static void tell(struct uploadbar *b, int64_t now_ms)
{
    struct buf line = { 0 };

    if (now_ms - b->shown_at_ms < TELL_EVERY_MS)
        return;
    b->shown_at_ms = now_ms;
    buf_printf(&line, "at %" PRIu64 " %" PRIu64 "\n", b->files, b->bytes);
    (void)!io_write_all(b->told_fd, buf_text(&line), line.n);
    buf_free(&line);
}

static void show(struct uploadbar *b)
{
    int64_t now_ms = units_monotonic_ms();
    struct buf line = { 0 };

    if (b->told_fd > 0)
        tell(b, now_ms);
    if (!b->shown || now_ms - b->shown_at_ms < SHOW_EVERY_MS)
        return;
    b->shown_at_ms = now_ms;
    b->has_line = true;
    buf_add_str(&line, "\r");
    /* A full last column would begin a new line. */
    uploadbar_add_line(&line, b, now_ms, output_columns(STDERR_FILENO) - 1);
    buf_add_str(&line, "\033[K");
    write_line(&line);
}

void uploadbar_begin(struct uploadbar *b, uint64_t files, uint64_t bytes)
{
    int64_t now_ms = units_monotonic_ms();

    if (b != NULL)
        *b = (struct uploadbar){ .shown = output_is_terminal(STDERR_FILENO),
                                 .all_bytes = bytes,
                                 .all_files = files,
                                 .began_at_ms = now_ms,
                                 .shown_at_ms = now_ms };
}

void uploadbar_add(struct uploadbar *b, uint64_t files, uint64_t bytes)
{
    if (b == NULL)
        return;
    b->files += files;
    b->bytes += bytes;
    /* Files that were not expected to be read. */
    if (b->all_files < b->files)
        b->all_files = b->files;
    if (b->all_bytes < b->bytes)
        b->all_bytes = b->bytes;
    show(b);
}

void uploadbar_clear(struct uploadbar *b)
{
    struct buf line = { 0 };

    if (b == NULL || !b->has_line)
        return;
    b->has_line = false;
    buf_add_str(&line, "\r\033[K");
    write_line(&line);
}
