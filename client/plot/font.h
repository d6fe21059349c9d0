/* SPDX-License-Identifier: MIT */
/*
 * font.h - the font for pictures, built into the program so that pictures look the same everywhere
 *
 * font.ttf is the part of DejaVu Sans Mono 2.37 for Latin (to U+017F), Greek, Cyrillic and some
 * signs, made with fonttools (pyftsubset --no-hinting --no-glyph-names); LICENSE has its licence.
 * All letters have the same width.
 */
#ifndef LUDWIG_CLIENT_PLOT_FONT_H
#define LUDWIG_CLIENT_PLOT_FONT_H

#include <ft2build.h>
#include FT_FREETYPE_H

#include "common/base/buf.h"
#include "common/base/err.h"

struct font {
    FT_Library library;
    FT_Face face;
};

/* Returns the content of font.ttf, which is static. */
struct bytes font_file(void);
int font_open(struct font *f, struct err *e); /* returns 0, or -1 with e set */
void font_close(struct font *f);
/* Returns the character's glyph, or the question mark's if the font lacks the character. */
FT_UInt font_glyph(const struct font *f, uint32_t character);

#endif
