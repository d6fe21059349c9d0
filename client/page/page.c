/* SPDX-License-Identifier: MIT */
/* page.c - puts the HTML page together: policy, styles, scripts and data */
#include <stdlib.h>
#include <string.h>
#include <openssl/evp.h>

#include "client/page/page.h"
#include "client/page/page_files.h"
#include "client/term/output.h"
#include "common/base/io.h"
#include "common/base/units.h"

/* ---- the file ---- */

/* Adds to the policy (Content-Security-Policy) that it allows a script or style with the SHA-256 of
 * this text.  directive: "script-src" or "style-src". */
static void add_source(struct buf *out, const char *directive, const struct buf *text)
{
    unsigned char base64[4 * (DIGEST_BYTES / 3 + 1) + 1];
    struct digest d;

    digest_of(buf_text(text), text->n, &d);
    EVP_EncodeBlock(base64, d.bytes, DIGEST_BYTES);
    buf_printf(out, "; %s 'sha256-%s'", directive, (const char *)base64);
}

/* Adds the page.  p NULL: the live page, which has no data and a script that requests them. */
static void add_page(struct buf *out, struct gathered *p)
{
    struct buf script = { 0 }, style = { 0 };

    buf_add_str(&script, "(() => {\n\"use strict\";\n");
    page_files_add(&script, PAGE_SCRIPT);
    if (p == NULL)
        page_files_add(&script, PAGE_LIVE_SCRIPT);
    buf_add_str(&script, "})();\n");
    page_files_add(&style, PAGE_STYLE);
    buf_add_str(out, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                     "<meta name=\"generator\" content=\"ludwig\">\n"
                     "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'");
    add_source(out, "script-src", &script);
    add_source(out, "style-src", &style);
    if (p == NULL)
        buf_add_str(out, "; connect-src 'self'");
    buf_add_str(out, "; base-uri 'none'; form-action 'none'\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                     "<meta name=\"color-scheme\" content=\"light dark\">\n"
                     "<meta name=\"referrer\" content=\"no-referrer\">\n"
                     "<title>ludwig</title>\n<style>");
    buf_add(out, buf_text(&style), style.n);
    buf_add_str(out, "</style>\n</head>\n<body>\n<noscript>This page is made by JavaScript, which "
                     "is switched off here.</noscript>\n");
    page_files_add(out, PAGE_BODY);
    buf_add_str(out, "<script type=\"application/json\" id=\"data\">");
    if (p != NULL)
        page_add_data(out, p);
    else
        buf_add_str(out, "null");
    buf_add_str(out, "</script>\n<script>");
    buf_add(out, buf_text(&script), script.n);
    buf_add_str(out, "</script>\n</body>\n</html>\n");
    buf_free(&script);
    buf_free(&style);
}

void page_add_html(struct buf *out, struct gathered *p)
{
    add_page(out, p);
}

void page_add_live(struct buf *out)
{
    add_page(out, NULL);
}

int page_write(struct gathered *p, const char *path, struct err *e)
{
    struct buf out = { 0 }, size = { 0 };
    int result;

    page_add_html(&out, p);
    if (strcmp(path, "-") == 0)
        return output_write(&out, e);
    units_add_size(&size, (int64_t)out.n);
    result = io_replace_file(path, buf_text(&out), out.n, 0644, e);
    if (result == 0)
        output_note("%s: %zu configuration%s, %zu job%s, %s; open it in a browser", path,
                    p->aggregate->n, p->aggregate->n == 1 ? "" : "s", p->n_jobs,
                    p->n_jobs == 1 ? "" : "s", buf_text(&size));
    buf_free(&size);
    buf_free(&out);
    return result;
}
