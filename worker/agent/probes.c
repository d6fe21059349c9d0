/* SPDX-License-Identifier: MIT */
/* probes.c - children of the agent that ask what may hang: a network file system, a GPU driver */

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

static int send_answer(int type, const void *note)
{
    struct err e = { 0 };
    struct wire wire;
    int rc;

    wire_init(&wire, CHILD_CHANNEL_FD, &orders);
    rc = wire_send(&wire, type, 0, NULL, note, &e) < 0;
    wire_close(&wire);
    return rc;
}

/* Blocks as long as the file system does. */
int share_probe_main(int argc, char **argv)
{
    char *file = path_join(argc < 2 ? "" : argv[1], LAYOUT_SERVER_DIR "/" SHAREID_NAME);
    struct arena *a = arena_create();
    struct note_share note;
    struct buf text = { 0 };
    struct err e = { 0 };
    struct shareid id;
    int rc;

    if (argc != 3)
        err_set(&e, ERR_USAGE, "--share PATH SERVER_ID");
    if (argc != 3 || child_begin(&e) < 0) {
        rc = child_fail("share", &e);
    } else {
        note.is_here = io_read_file(file, SHAREID_MAX_BYTES, &text, NULL) == 0 &&
                       shareid_decode(&id, buf_bytes(&text), a, NULL) == 0 &&
                       strcmp(id.server, argv[2]) == 0;
        rc = send_answer(NOTE_SHARE, &note);
    }
    buf_free(&text);
    arena_destroy(a);
    free(file);
    return rc;
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
    rc = send_answer(NOTE_GPUS, &note);
    buf_free(&lines);
    return rc;
}
