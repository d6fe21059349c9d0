/* SPDX-License-Identifier: MIT */
/* doctor_pilots.c - the keys that ludwigd has let in for its pilots */
#include <stdlib.h>
#include <string.h>

#include "client/doctor/doctor.h"
#include "common/base/io.h"
#include "common/base/path.h"
#include "common/proto/layout.h"

enum { KEYS_MAX_BYTES = 4 * 1024 * 1024 };

static size_t count(const char *text)
{
    size_t n = 0;

    while ((text = strstr(text, " " LAYOUT_PILOT_KEY)) != NULL) {
        text++;
        n++;
    }
    return n;
}

void check_pilots(struct doctor *d)
{
    char *path = path_expand_home("~/.ssh/authorized_keys");
    struct buf text = { 0 };
    size_t n = 0;

    if (io_read_file(path, KEYS_MAX_BYTES, &text, NULL) == 0)
        n = count(buf_text(&text));
    if (n > 0)
        doctor_say(d, CHECK_OK, NULL,
                   "%zu key%s of pilots in Slurm may come in here, for `ludwig bridge` alone (%s, "
                   "lines with " LAYOUT_PILOT_KEY "; slurm: login_key)",
                   n, n == 1 ? "" : "s", path);
    buf_free(&text);
    free(path);
}
