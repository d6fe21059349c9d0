/* SPDX-License-Identifier: MIT */
/*
 * doc.h - holding a document against the tables in the code
 *
 * Unit tests run in the repository's root; include after cmocka.h.
 */
#ifndef LUDWIG_TESTS_UNIT_DOC_H
#define LUDWIG_TESTS_UNIT_DOC_H

#include <string.h>

#include "common/base/io.h"

static inline void doc_must_contain(const char *path, const char *text)
{
    struct buf doc = { 0 };
    struct err e = { 0 };

    if (io_read_file(path, 1 << 24, &doc, &e) < 0)
        fail_msg("%s", e.text);
    if (strstr(buf_text(&doc), text) == NULL)
        fail_msg("%s lacks: %s", path, text);
    buf_free(&doc);
}

#endif
