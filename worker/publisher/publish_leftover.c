/* SPDX-License-Identifier: MIT */
/* publish_leftover.c - publishes results that a killed pilot did not get to the share */

#include "worker/publisher/publish_leftover.h"

#include <dirent.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "worker/base/scratch.h"
#include "worker/publisher/publish.h"
#include "worker/share/sftplink.h"

static bool has_ended_well(const struct scratch *s, const char *hex, struct arena *a)
{
    char *path = arena_printf(a, "%s/" JOB_OUTCOME, hex);
    struct outcome outcome;

    return scratch_read(s->ended_fd, path, &outcome_schema, a, &outcome, NULL) == 0 &&
           outcome.event == EV_DONE;
}

/* At most PUBLISH_GROUP_MAX at once; the next pilot, or the next look, finds what is left. */
static size_t find_results(const struct scratch *s, struct publish_item *items, struct arena *a)
{
    DIR *dir = s->ended_fd < 0 ? NULL : io_list_dir_at(s->ended_fd, ".", NULL);
    const struct dirent *entry;
    size_t n = 0;

    while (dir != NULL && n < PUBLISH_GROUP_MAX && (entry = readdir(dir)) != NULL) {
        struct publish_item *item = &items[n];

        *item = (struct publish_item){ .error = { .kind = ERR_NONE } };
        n += token_parse(entry->d_name, &item->token) == 0 && has_ended_well(s, entry->d_name, a);
    }
    if (dir != NULL)
        closedir(dir);
    return n;
}

static int publish_all(struct scratch *s, const char *address, struct publish_item *items, size_t n,
                       struct arena *a, struct err *e)
{
    struct sftplink *sftp = sftplink_create(address);
    struct share_source source = sftplink_source(sftp);
    struct shares *access = shares_create(&source);
    char host[HOST_NAME_MAX + 1] = "";
    int result = 0;

    if (gethostname(host, sizeof host - 1) < 0)
        host[0] = '\0';
    publish_group(s, access, host, items, n, a);
    for (size_t i = 0; i < n; i++) {
        char hex[TOKEN_HEX];

        token_hex(&items[i].token, hex);
        if (items[i].error.kind == ERR_NONE) {
            log_event(LOG_INFO, "leftover-published", "token", "%s", hex, NULL);
        } else if (result == 0) {
            *e = items[i].error;
            result = -1;
        }
    }
    shares_destroy(access);
    sftplink_destroy(sftp);
    return result;
}

int publish_leftover(const char *scratch, const char *address, struct err *e)
{
    struct arena *a = arena_create();
    struct publish_item *items = arena_alloc(a, PUBLISH_GROUP_MAX * sizeof *items);
    struct scratch s;
    size_t n = PUBLISH_GROUP_MAX;
    int result = 0;

    scratch_look(&s, scratch);
    while (result == 0 && n == PUBLISH_GROUP_MAX) { /* what was published has left ended/ */
        n = find_results(&s, items, a);
        if (n > 0) {
            mode_t mask = umask(0); /* all modes are given as they shall be */

            result = publish_all(&s, address, items, n, a, e);
            (void)umask(mask);
        }
    }
    scratch_close(&s);
    arena_destroy(a);
    return result;
}
