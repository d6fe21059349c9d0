/* SPDX-License-Identifier: MIT */
/* share_probe.c - whether ludwigd's share is to be seen on this machine as well */

#include "worker/agent/share_probe.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/io.h"
#include "common/base/path.h"
#include "common/proto/layout.h"
#include "common/proto/shareid.h"
#include "worker/base/child_start.h"
#include "worker/base/child_protocol.h"

static bool names(struct bytes file, const char *server_id)
{
    struct arena *a = arena_create();
    struct shareid id;
    bool is_it = shareid_decode(&id, file, a, NULL) == 0 && strcmp(id.server, server_id) == 0;

    arena_destroy(a);
    return is_it;
}

bool share_is_of(const char *path, const char *server_id)
{
    char *file = path_join(path, LAYOUT_SERVER_DIR "/" SHAREID_NAME);
    struct buf text = { 0 };
    bool is_it = io_read_file(file, SHAREID_MAX_BYTES, &text, NULL) == 0 &&
                 names(buf_bytes(&text), server_id);

    buf_free(&text);
    free(file);
    return is_it;
}

int share_probe_main(int argc, char **argv)
{
    struct note_share note = { .is_here = false };
    struct err e = { 0 };
    struct wire wire;
    int rc;

    if (argc != 3)
        err_set(&e, ERR_USAGE, "--share PATH SERVER_ID");
    if (argc != 3 || child_begin(&e) < 0)
        return child_fail("share", &e);
    wire_init(&wire, CHILD_CHANNEL_FD, &orders);
    note.is_here = share_is_of(argv[1], argv[2]);
    rc = wire_send(&wire, NOTE_SHARE, 0, NULL, &note, &e) < 0;
    wire_close(&wire);
    return rc;
}
