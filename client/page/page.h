/* SPDX-License-Identifier: MIT */
/*
 * page.h - writes a sweep's results as one HTML file (`ludwig results --html`), and the live page
 *
 * The file contains the data, styles and scripts, makes no requests, and can be opened from a disk
 * or an email.  Text from users and jobs (names, values, reasons) is in it as JSON without < > &,
 * so that a browser cannot take it for HTML; a Content-Security-Policy in the file allows no script
 * but the page's own.  docs/internals/page.md describes the data.
 */
#ifndef LUDWIG_CLIENT_PAGE_PAGE_H
#define LUDWIG_CLIENT_PAGE_PAGE_H

#include "client/results/gather.h"

/* Appends the whole file. */
void page_add_html(struct buf *out, struct gathered *p);
/* Appends the live page, which has no data: it requests them from `ludwig ui` (client/ui/). */
void page_add_live(struct buf *out);
/* Writes the file to path, replacing it, and notes this on stderr; path "-": to stdout.  Returns 0,
 * or -1 with e set. */
int page_write(struct gathered *p, const char *path, struct err *e);

/* Appends the data as JSON that can stand in a <script>. */
void page_add_data(struct buf *out, struct gathered *p);
/* Appends ,"nodes":[...],"pools":[...],"pilots":[...]: members to add to a JSON object. */
void page_add_nodes(struct buf *out, const struct msg_node_page *nodes);

#endif
