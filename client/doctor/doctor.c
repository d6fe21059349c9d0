/* SPDX-License-Identifier: MIT */
/* doctor.c - adds findings of `ludwig doctor`, and tries to write a file */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "client/doctor/doctor.h"
#include "common/base/io.h"
#include "common/base/mem.h"
#include "common/base/units.h"

static const int64_t FREE_LOW_BYTES = INT64_C(1) << 30, FREE_BAD_BYTES = INT64_C(100) << 20;

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
    va_list ap;
    char *text;

    va_start(ap, found);
    text = mem_vprintf(found, ap);
    va_end(ap);
    mem_grow((void **)&d->findings, &d->capacity, d->n, sizeof *d->findings);
    d->findings[d->n++] =
        (struct finding){ .check = d->check,
                          .verdict = (int)verdict,
                          .found = arena_strdup(d->arena, text),
                          .advice = advice == NULL ? NULL : arena_strdup(d->arena, advice) };
    free(text);
}

void doctor_say_space(struct doctor *d, const char *where, int64_t free_bytes, const char *suffix)
{
    struct buf size = { 0 };

    units_add_size(&size, free_bytes);
    doctor_say(d,
               free_bytes < FREE_BAD_BYTES   ? CHECK_PROBLEM
               : free_bytes < FREE_LOW_BYTES ? CHECK_NOTE
                                             : CHECK_OK,
               free_bytes < FREE_LOW_BYTES ? "make room there" : NULL, "%s, %s free%s", where,
               buf_text(&size), suffix);
    buf_free(&size);
}

int doctor_try_file(const char *folder, struct tried_file *tried)
{
    char *path = mem_printf("%s/.ludwig-doctor.%ld", folder, (long)getpid());
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    struct timespec before = { 0 }, after = { 0 };
    struct stat st;
    int number = errno, rc = -1;

    if (fd >= 0) {
        (void)clock_gettime(CLOCK_MONOTONIC, &before);
        if (io_write_all(fd, "x", 1) == 0 && fsync(fd) == 0 && fstat(fd, &st) == 0) {
            (void)clock_gettime(CLOCK_MONOTONIC, &after);
            tried->sync_ms = (double)(after.tv_sec - before.tv_sec) * 1e3 +
                             (double)(after.tv_nsec - before.tv_nsec) / 1e6;
            tried->mtime_s = st.st_mtime;
            rc = 0;
        }
        number = errno;
        close(fd);
        (void)unlink(path);
    }
    free(path);
    errno = number;
    return rc;
}
