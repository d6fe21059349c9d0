/* SPDX-License-Identifier: MIT */
/* font.c - the font of pictures, built into the program */
#include "client/plot/font.h"

/* The assembler includes the file's bytes; the Makefile says which object depends on the file. */
#ifdef __APPLE__
__asm__(".const_data\n.globl _font_bytes\n_font_bytes:\n.incbin \"client/plot/font.ttf\"\n"
        ".globl _font_bytes_end\n_font_bytes_end:\n.byte 0\n.text\n");
#else
__asm__(".section .rodata\n.globl font_bytes\nfont_bytes:\n.incbin \"client/plot/font.ttf\"\n"
        ".globl font_bytes_end\nfont_bytes_end:\n.byte 0\n.text\n");
#endif
extern const uint8_t font_bytes[] __attribute__((visibility("hidden")));
extern const uint8_t font_bytes_end[] __attribute__((visibility("hidden")));

static const struct {
    const uint8_t *begin, *end;
} file = { font_bytes, font_bytes_end };

struct bytes font_file(void)
{
    return (struct bytes){ file.begin, (size_t)(file.end - file.begin) };
}

int font_open(struct font *f, struct err *e)
{
    const struct bytes whole = font_file();
    int why = FT_Init_FreeType(&f->library);

    if (why == 0 &&
        (why = FT_New_Memory_Face(f->library, whole.data, (FT_Long)whole.n, 0, &f->face)) != 0)
        FT_Done_FreeType(f->library);
    return why == 0 ? 0
                    : err_set(e, ERR_INTERNAL, "the font of pictures: FreeType's error %d", why);
}

void font_close(struct font *f)
{
    FT_Done_Face(f->face);
    FT_Done_FreeType(f->library);
}

FT_UInt font_glyph(const struct font *f, uint32_t character)
{
    FT_UInt glyph = FT_Get_Char_Index(f->face, character);

    return glyph != 0 ? glyph : FT_Get_Char_Index(f->face, '?');
}
