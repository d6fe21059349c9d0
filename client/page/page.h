/* SPDX-License-Identifier: MIT */
/*
 * page.h - a sweep's results as one file of HTML: results --html
 *
 * The file has its data and all that shows them in it, asks no host for anything, and may be opened
 * from a disk or a mail.  What others wrote (names, values, reasons) is in it as JSON that a browser
 * does not take for HTML, and a policy in the file lets run nothing but the page's own script.
 * docs/internals/page.md describes the data.
 */
#ifndef LUDWIG_CLIENT_PAGE_PAGE_H
#define LUDWIG_CLIENT_PAGE_PAGE_H

#include "client/results/gather.h"

/* Appends the file. */
void page_add_html(struct buf *out, struct gathered *p);
/* Writes it; path "-": to stdout. */
int page_write(struct gathered *p, const char *path, struct err *e);

/* Appends the data, as JSON that may stand in a <script>. */
void page_add_data(struct buf *out, struct gathered *p);

#endif
