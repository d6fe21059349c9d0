/* SPDX-License-Identifier: MIT */
/*
 * slurm_records.h - reads recorded output of Slurm's commands
 *
 * tests/functional/slurm_records.sh records it in tests/slurm/VERSION; while that test runs it has
 * the unit tests read its new records, in $LUDWIG_SLURM_RECORDS.  Include after cmocka.h.
 */
#ifndef LUDWIG_TESTS_UNIT_SLURM_RECORDS_H
#define LUDWIG_TESTS_UNIT_SLURM_RECORDS_H

#include <dirent.h>
#include <stdlib.h>

#include "common/base/io.h"
#include "common/base/mem.h"
#include "common/base/path.h"

/* Reads folder/name into out, over what out held. */
static inline void records_read(const char *folder, const char *name, struct buf *out)
{
    struct err e = { 0 };
    char *path = path_join(folder, name);

    buf_clear(out);
    if (io_read_file(path, 1 << 24, out, &e) < 0)
        fail_msg("%s", e.text);
    free(path);
}

/* Calls check with the folder of each recorded version. */
static inline void records_each(void (*check)(const char *folder))
{
    const char *own = getenv("LUDWIG_SLURM_RECORDS");
    DIR *dir;
    struct dirent *entry;
    int n = 0;

    if (own != NULL) {
        check(own);
        return;
    }
    dir = opendir("tests/slurm");
    assert_non_null(dir);
    while ((entry = readdir(dir)) != NULL) {
        char *folder;

        if (entry->d_name[0] == '.')
            continue;
        folder = path_join("tests/slurm", entry->d_name);
        check(folder);
        free(folder);
        n++;
    }
    closedir(dir);
    assert_true(n > 0);
}

#endif
