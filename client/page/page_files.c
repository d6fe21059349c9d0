/* SPDX-License-Identifier: MIT */
/* page_files.c - builds the page's HTML, CSS and JavaScript into the program */
#include "client/page/page_files.h"

/* The assembler includes a file's bytes; the Makefile says which objects depend on the files. */
#ifdef __APPLE__
#define SECTION      ".const_data\n"
#define SYMBOL(name) "_" #name
#else
#define SECTION      ".section .rodata\n"
#define SYMBOL(name) #name
#endif

#define EMBED(name, path)                                                                      \
    __asm__(SECTION ".globl " SYMBOL(name) "\n" SYMBOL(                                        \
        name) ":\n.incbin \"client/page/" path                                                 \
              "\"\n.globl " SYMBOL(name##_end) "\n" SYMBOL(name##_end) ":\n.byte 0\n.text\n"); \
    extern const char name[] __attribute__((visibility("hidden")));                            \
    extern const char name##_end[] __attribute__((visibility("hidden")))

EMBED(page_file_body, "page.html");
EMBED(page_file_style, "page.css");
EMBED(page_file_where, "where.js");
EMBED(page_file_data, "data.js");
EMBED(page_file_draw, "draw.js");
EMBED(page_file_axes, "axes.js");
EMBED(page_file_curves, "curves.js");
EMBED(page_file_lists, "lists.js");
EMBED(page_file_jobs, "jobs.js");
EMBED(page_file_page, "page.js");
EMBED(page_file_panes, "panes.js");
EMBED(page_file_live, "live.js");

static const struct {
    enum page_part part;
    const char *begin, *end;
} files[] = {
    { PAGE_BODY, page_file_body, page_file_body_end },
    { PAGE_STYLE, page_file_style, page_file_style_end },
    /* Each script stands after the scripts that it uses. */
    { PAGE_SCRIPT, page_file_where, page_file_where_end },
    { PAGE_SCRIPT, page_file_data, page_file_data_end },
    { PAGE_SCRIPT, page_file_draw, page_file_draw_end },
    { PAGE_SCRIPT, page_file_axes, page_file_axes_end },
    { PAGE_SCRIPT, page_file_curves, page_file_curves_end },
    { PAGE_SCRIPT, page_file_lists, page_file_lists_end },
    { PAGE_SCRIPT, page_file_jobs, page_file_jobs_end },
    { PAGE_SCRIPT, page_file_page, page_file_page_end },
    { PAGE_LIVE_SCRIPT, page_file_panes, page_file_panes_end },
    { PAGE_LIVE_SCRIPT, page_file_live, page_file_live_end },
};

void page_files_add(struct buf *out, enum page_part part)
{
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        if (files[i].part == part)
            buf_add(out, files[i].begin, (size_t)(files[i].end - files[i].begin));
}
