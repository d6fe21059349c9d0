/* SPDX-License-Identifier: MIT */
/* probes.c - children of the agent that look at what may hang */

#include "worker/agent/probes.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/io.h"
#include "common/base/path.h"
#include "common/proto/layout.h"
#include "common/proto/shareid.h"
#include "worker/base/child_protocol.h"
#include "worker/base/child_start.h"
#include "worker/node/gpu.h"

bool share_is_of(const char *path, const char *server_id)
{
    char *file = path_join(path, LAYOUT_SERVER_DIR "/" SHAREID_NAME);
    struct arena *a = arena_create();
    struct buf text = { 0 };
    struct shareid id;
    bool is_it = io_read_file(file, SHAREID_MAX_BYTES, &text, NULL) == 0 &&
                 shareid_decode(&id, buf_bytes(&text), a, NULL) == 0 &&
                 strcmp(id.server, server_id) == 0;

    buf_free(&text);
    arena_destroy(a);
    free(file);
    return is_it;
}

static int answer(int type, const void *note)
{
    struct err e = { 0 };
    struct wire wire;
    int rc;

    wire_init(&wire, CHILD_CHANNEL_FD, &orders);
    rc = wire_send(&wire, type, 0, NULL, note, &e) < 0;
    wire_close(&wire);
    return rc;
}

int share_probe_main(int argc, char **argv)
{
    struct note_share note;
    struct err e = { 0 };

    if (argc != 3)
        err_set(&e, ERR_USAGE, "--share PATH SERVER_ID");
    if (argc != 3 || child_begin(&e) < 0)
        return child_fail("share", &e);
    note.is_here = share_is_of(argv[1], argv[2]);
    return answer(NOTE_SHARE, &note);
}

int gpu_probe_main(int argc, char **argv)
{
    struct buf lines = { 0 };
    struct note_gpus note;
    struct err e = { 0 };
    int rc;

    (void)argc, (void)argv;
    if (child_begin(&e) < 0)
        return child_fail("gpus", &e);
    gpu_ask(&lines);
    note.lines = buf_text(&lines);
    rc = answer(NOTE_GPUS, &note);
    buf_free(&lines);
    return rc;
}
