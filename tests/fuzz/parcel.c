/* SPDX-License-Identifier: MIT */
/* parcel.c - fuzz: files that anybody may put into an inbox; names as well */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/connect/parcel.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(int ok)
{
    if (!ok)
        abort();
}

/* What was taken is written again as something that reads the same. */
static void check_content(const uint8_t *data, size_t size)
{
    struct arena *a = arena_create();
    struct parcel p, again;
    struct buf file = { 0 };

    if (parcel_decode(&p, (struct bytes){ data, size }, a, NULL) == 0) {
        need(p.data.n <= PARCEL_DATA_MAX && p.seq >= 0 && p.ack >= 0);
        parcel_encode(&p, &file);
        need(parcel_decode(&again, buf_bytes(&file), a, NULL) == 0);
        need(again.seq == p.seq && again.ack == p.ack && again.end == p.end);
        need(again.data.n == p.data.n && strcmp(again.server, p.server) == 0);
        need(p.data.n == 0 || memcmp(again.data.data, p.data.data, p.data.n) == 0);
    }
    buf_free(&file);
    arena_destroy(a);
}

static void check_name(const uint8_t *data, size_t size)
{
    char *name = mem_strndup((const char *)data, size), spelled[PARCEL_NAME_BYTES];
    struct token conn;
    int64_t seq;
    bool is_temporary;

    if (parcel_parse_inbox_name(name, &conn, &seq, &is_temporary) == 0) {
        parcel_inbox_name(spelled, &conn, seq);
        need(strcmp(spelled, name + is_temporary) == 0);
    }
    free(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_content(data, size);
    check_name(data, size);
    return 0;
}
