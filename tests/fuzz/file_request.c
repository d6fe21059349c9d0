/* SPDX-License-Identifier: MIT */
/* file_request.c - fuzz: requests in an inbox, which any user may write, replies and file names */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/connect/file_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(int ok)
{
    if (!ok)
        abort();
}

/* What was taken is written again as something that reads the same. */
static void check_request(struct bytes bytes)
{
    struct arena *a = arena_create();
    struct file_request r, again;
    struct buf file = { 0 };

    if (file_request_decode(&r, bytes, a, NULL) == 0) {
        need(r.data.n <= FILE_REQUEST_DATA_MAX && r.no >= 0);
        file_request_encode(&r, &file);
        need(file_request_decode(&again, buf_bytes(&file), a, NULL) == 0);
        need(again.no == r.no && again.is_end == r.is_end && again.data.n == r.data.n);
        need(strcmp(again.server, r.server) == 0);
        need(r.data.n == 0 || memcmp(again.data.data, r.data.data, r.data.n) == 0);
    }
    buf_free(&file);
    arena_destroy(a);
}

static void check_reply(struct bytes bytes)
{
    struct arena *a = arena_create();
    struct file_reply r, again;
    struct buf file = { 0 };

    if (file_request_decode_reply(&r, bytes, a, NULL) == 0) {
        need(r.data.n <= FILE_REQUEST_DATA_MAX && r.no >= 0);
        file_request_encode_reply(&r, &file);
        need(file_request_decode_reply(&again, buf_bytes(&file), a, NULL) == 0);
        need(again.no == r.no && again.is_end == r.is_end && again.data.n == r.data.n);
        need((again.why == NULL) == (r.why == NULL));
    }
    buf_free(&file);
    arena_destroy(a);
}

static void check_name(const uint8_t *data, size_t size)
{
    char *name = mem_strndup((const char *)data, size), spelled[FILE_REQUEST_NAME_BYTES];
    struct token conn;
    int64_t no;
    bool is_temporary;

    if (file_request_parse_name(name, &conn, &no, &is_temporary) == 0) {
        file_request_name(spelled, &conn, no);
        need(strcmp(spelled, name + is_temporary) == 0);
    }
    free(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_request((struct bytes){ data, size });
    check_reply((struct bytes){ data, size });
    check_name(data, size);
    return 0;
}
