/* SPDX-License-Identifier: MIT */
/*
 * page_files.h - gives the page's HTML, CSS and JavaScript, which are built into the program
 */
#ifndef LUDWIG_CLIENT_PAGE_PAGE_FILES_H
#define LUDWIG_CLIENT_PAGE_PAGE_FILES_H

#include "common/base/buf.h"

enum page_part {
    PAGE_BODY /* HTML */,
    PAGE_STYLE /* CSS */,
    PAGE_SCRIPT /* JavaScript of every page */,
    PAGE_LIVE_SCRIPT /* further JavaScript of the live page */
};

/* Appends the text of all files of this part. */
void page_files_add(struct buf *out, enum page_part part);

#endif
