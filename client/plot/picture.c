/* SPDX-License-Identifier: MIT */
/* picture.c - writes what was drawn on a canvas as a file of SVG, PNG or PDF */
#include "client/plot/picture.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "client/plot/font.h"
#include "client/plot/raster.h"
#include "client/term/safe_text.h"
#include "common/base/mem.h"
#include "common/base/utf8.h"

/* Sizes in points: those of a cell, its baseline from the top, the margin around all cells. */
enum { CELL_WIDTH = 6, CELL_HEIGHT = 12, BASELINE = 9, MARGIN = 12 };

static const double dot_radius = 0.7, spot_radius = 1.6, line_width = 1;
/* At this size our font's letters, 0.602 of the size wide, are as wide as a cell. */
static const double font_size = CELL_WIDTH / (1233.0 / 2048);

enum picture_form picture_form_of(const char *path)
{
    static const char *const ends[PICTURE_FORM_COUNT] = { ".svg", ".png", ".pdf" };
    size_t n = strlen(path);
    int form = 0;

    while (form < PICTURE_FORM_COUNT && (n <= 4 || strcasecmp(path + n - 4, ends[form]) != 0))
        form++;
    return (enum picture_form)form;
}

void shapes_free(struct shapes *s)
{
    for (size_t i = 0; i < s->n; i++)
        free(s->items[i].text);
    free(s->items);
    *s = (struct shapes){ 0 };
}

/* Fills in the shape's colour on white paper; a band is so light that lines on it are visible. */
static void colour_of(const struct shape *s, uint8_t rgb[3])
{
    static const uint8_t of_states[][3] = {
        { 20, 130, 60 }, { 190, 30, 30 }, { 20, 120, 150 }, { 170, 110, 0 }
    };
    int ink = s->ink & ~INK_REVERSE;

    memset(rgb, ink == INK_DIM ? 100 : 0, 3);
    if (ink >= INK_GOOD && ink < INK_COUNT)
        memcpy(rgb, of_states[ink - INK_GOOD], 3);
    else if (ink >= INK_RAMP && ink < INK_GOOD)
        canvas_ramp_colour(ink, rgb);
    for (size_t i = 0; i < 3 && s->kind == SHAPE_BAND; i++)
        rgb[i] = (uint8_t)(255 - (255 - rgb[i]) * 3 / 10);
}

/* Takes the next character of n bytes of text: returns its length in bytes, and sets its glyph and
 * the number of columns, each of which shows that glyph. */
static size_t next_glyph(const struct font *font, const char *text, size_t n, FT_UInt *glyph,
                         size_t *columns)
{
    uint32_t code = '?';
    size_t length = utf8_next(text, n, &code);

    *columns = canvas_columns_of(code);
    *glyph = font_glyph(font, code);
    return length == 0 ? 1 : length;
}

static double x_of(double column)
{
    return MARGIN + column * CELL_WIDTH;
}

static double y_of(double row)
{
    return MARGIN + row * CELL_HEIGHT;
}

/* ---- SVG ---- */

static void add_escaped(struct buf *out, const char *text)
{
    for (; *text != '\0'; text++)
        if (*text == '<')
            buf_add_str(out, "&lt;");
        else if (*text == '&')
            buf_add_str(out, "&amp;");
        else if (*text == '>')
            buf_add_str(out, "&gt;");
        else
            buf_add_char(out, *text);
}

static void add_svg_shape(struct buf *out, const struct shape *s)
{
    double x = x_of(s->x), y = y_of(s->y), to_x = x_of(s->to_x), to_y = y_of(s->to_y);
    uint8_t c[3];

    colour_of(s, c);
    switch (s->kind) {
    case SHAPE_LINE:
        buf_printf(out, "<path d=\"M%.1f %.1fL%.1f %.1f\" stroke=\"#%02x%02x%02x\"/>\n", x, y, to_x,
                   to_y, c[0], c[1], c[2]);
        break;
    case SHAPE_DOT:
    case SHAPE_SPOT:
        buf_printf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" fill=\"#%02x%02x%02x\"/>\n", x,
                   y, s->kind == SHAPE_DOT ? dot_radius : spot_radius, c[0], c[1], c[2]);
        break;
    case SHAPE_BAR:
        buf_printf(out,
                   "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
                   "fill=\"#%02x%02x%02x\"/>\n",
                   x, y, to_x - x, to_y - y, c[0], c[1], c[2]);
        break;
    case SHAPE_BAND:
        buf_printf(
            out, "<path d=\"M%.1f %.1fL%.1f %.1fL%.1f %.1fL%.1f %.1fZ\" fill=\"#%02x%02x%02x\"/>\n",
            x, y, to_x, to_y, to_x, y_of(s->to_low), x, y_of(s->low), c[0], c[1], c[2]);
        break;
    case SHAPE_TEXT: /* textLength gives it its width in any font */
        buf_printf(
            out,
            "<text x=\"%.1f\" y=\"%.1f\" textLength=\"%zu\" lengthAdjust=\"spacingAndGlyphs\" "
            "fill=\"#%02x%02x%02x\"%s>",
            x, y + BASELINE, CELL_WIDTH * safe_text_width(s->text, strlen(s->text)), c[0], c[1],
            c[2], s->ink == INK_STRONG ? " font-weight=\"bold\"" : "");
        add_escaped(out, s->text);
        buf_add_str(out, "</text>\n");
        break;
    }
}

static void add_svg(struct buf *out, const struct shapes *s, double width, double height)
{
    buf_printf(out,
               "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" "
               "width=\"%.0f\" height=\"%.0f\" "
               "font-family=\"DejaVu Sans Mono,Menlo,Consolas,monospace\" "
               "font-size=\"%.2f\" stroke-width=\"%.1f\" stroke-linecap=\"round\" "
               "xml:space=\"preserve\">\n"
               "<!-- drawn by ludwig -->\n"
               "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
               width, height, width, height, font_size, line_width);
    for (size_t i = 0; i < s->n; i++)
        add_svg_shape(out, &s->items[i]);
    buf_add_str(out, "</svg>\n");
}

/* ---- PNG ---- */

static void add_raster_shape(struct raster *r, const struct font *font, const struct shape *s,
                             double height)
{
    const double from[2] = { x_of(s->x), height - y_of(s->y) };
    const double to[2] = { x_of(s->to_x), height - y_of(s->to_y) };
    const double band[8] = { from[0], from[1],
                             to[0],   to[1],
                             to[0],   height - y_of(s->to_low),
                             from[0], height - y_of(s->low) };
    const double bar[8] = { from[0], from[1], to[0], from[1], to[0], to[1], from[0], to[1] };
    size_t n, left, columns, column = 0;
    const char *text = s->text;
    FT_UInt glyph;
    uint8_t c[3];

    colour_of(s, c);
    raster_colour(r, c);
    switch (s->kind) {
    case SHAPE_LINE: raster_line(r, from, to, line_width); break;
    case SHAPE_DOT: raster_line(r, from, from, 2 * dot_radius); break;
    case SHAPE_SPOT: raster_line(r, from, from, 2 * spot_radius); break;
    case SHAPE_BAR: raster_fill(r, bar); break;
    case SHAPE_BAND: raster_fill(r, band); break;
    case SHAPE_TEXT:
        for (left = strlen(text); left > 0; text += n, left -= n) {
            n = next_glyph(font, text, left, &glyph, &columns);
            for (size_t i = 0; i < columns; i++, column++)
                raster_glyph(r, from[0] + (double)column * CELL_WIDTH, from[1] - BASELINE,
                             font_size, glyph, s->ink == INK_STRONG);
        }
        break;
    }
}

static int add_png(struct buf *out, const struct shapes *s, const struct font *font, double width,
                   double height, struct err *e)
{
    struct raster *r = raster_create(font, width, height);
    int result;

    for (size_t i = 0; i < s->n; i++)
        add_raster_shape(r, font, &s->items[i], height);
    result = raster_add_png(out, r, e);
    raster_destroy(r);
    return result;
}

/* ---- PDF ---- */

/* Adds a circle as four curves. */
static void add_pdf_circle(struct buf *out, double x, double y, double r)
{
    const double k = 0.5523 * r;

    buf_printf(out,
               "%.2f %.2f m %.2f %.2f %.2f %.2f %.2f %.2f c %.2f %.2f %.2f %.2f %.2f %.2f c "
               "%.2f %.2f %.2f %.2f %.2f %.2f c %.2f %.2f %.2f %.2f %.2f %.2f c f\n",
               x + r, y, x + r, y + k, x + k, y + r, x, y + r, x - k, y + r, x - r, y + k, x - r, y,
               x - r, y - k, x - k, y - r, x, y - r, x + k, y - r, x + r, y - k, x + r, y);
}

/* Adds text as numbers of glyphs; a bold letter is a letter with a line around it. */
static void add_pdf_text(struct buf *out, const struct font *font, const struct shape *s, double x,
                         double y)
{
    const char *text = s->text;
    size_t n, columns;
    FT_UInt glyph;

    buf_printf(out, "BT %d Tr /F %.4f Tf %.2f %.2f Td <", s->ink == INK_STRONG ? 2 : 0, font_size,
               x, y - BASELINE);
    for (size_t left = strlen(text); left > 0; text += n, left -= n) {
        n = next_glyph(font, text, left, &glyph, &columns);
        for (size_t i = 0; i < columns; i++)
            buf_printf(out, "%04x", glyph);
    }
    buf_add_str(out, "> Tj ET\n");
}

/* Adds a shape; PDF counts y from the bottom. */
static void add_pdf_shape(struct buf *out, const struct font *font, const struct shape *s,
                          double height)
{
    double x = x_of(s->x), y = height - y_of(s->y), to_x = x_of(s->to_x);
    double to_y = height - y_of(s->to_y);
    uint8_t c[3];

    colour_of(s, c);
    for (int i = 0; i < 2; i++) /* for lines, then for fills */
        buf_printf(out, "%.3f %.3f %.3f %s ", c[0] / 255.0, c[1] / 255.0, c[2] / 255.0,
                   i == 0 ? "RG" : "rg");
    switch (s->kind) {
    case SHAPE_LINE: buf_printf(out, "%.2f %.2f m %.2f %.2f l S\n", x, y, to_x, to_y); break;
    case SHAPE_DOT: add_pdf_circle(out, x, y, dot_radius); break;
    case SHAPE_SPOT: add_pdf_circle(out, x, y, spot_radius); break;
    case SHAPE_BAR:
        buf_printf(out, "%.2f %.2f %.2f %.2f re f\n", x, to_y, to_x - x, y - to_y);
        break;
    case SHAPE_BAND:
        buf_printf(out, "%.2f %.2f m %.2f %.2f l %.2f %.2f l %.2f %.2f l f\n", x, y, to_x, to_y,
                   to_x, height - y_of(s->to_low), x, height - y_of(s->low));
        break;
    case SHAPE_TEXT:
        buf_add_str(out, "0.4 w ");
        add_pdf_text(out, font, s, x, y);
        buf_printf(out, "%.1f w\n", line_width);
        break;
    }
}

static void add_stream(struct buf *out, const char *more, struct bytes content)
{
    buf_printf(out, "<< /Length %zu%s >>\nstream\n", content.n, more);
    buf_add(out, content.data, content.n);
    buf_add_str(out, "\nendstream");
}

/* Adds which character each glyph is, so that viewers can search and copy text. */
static void add_pdf_characters(struct buf *out, const struct font *font)
{
    struct buf text = { 0 };
    FT_UInt glyph;

    buf_add_str(&text, "/CIDInit /ProcSet findresource begin 12 dict begin begincmap\n"
                       "/CMapName /Letters def /CMapType 2 def\n"
                       "1 begincodespacerange <0000> <ffff> endcodespacerange\n");
    for (FT_ULong c = FT_Get_First_Char(font->face, &glyph); glyph != 0;
         c = FT_Get_Next_Char(font->face, c, &glyph))
        buf_printf(&text, "1 beginbfchar <%04x> <%04lx> endbfchar\n", glyph, c);
    buf_add_str(&text, "endcmap CMapName currentdict /CMap defineresource pop end end");
    add_stream(out, "", (struct bytes){ (const uint8_t *)text.bytes, text.n });
    buf_free(&text);
}

static void add_pdf(struct buf *out, const struct shapes *s, const struct font *font, double width,
                    double height)
{
    enum { N_OBJECTS = 9 };
    size_t begin = out->n, places[N_OBJECTS], xref;
    struct buf objects[N_OBJECTS] = { { 0 } }, drawing = { 0 }, length = { 0 };
    const struct bytes file = font_file();

    buf_printf(&drawing, "1 J %.1f w\n", line_width);
    for (size_t i = 0; i < s->n; i++)
        add_pdf_shape(&drawing, font, &s->items[i], height);
    buf_add_str(&objects[0], "<< /Type /Catalog /Pages 2 0 R >>");
    buf_add_str(&objects[1], "<< /Type /Pages /Kids [3 0 R] /Count 1 >>");
    buf_printf(&objects[2],
               "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 %.0f %.0f] /Contents 4 0 R "
               "/Resources << /Font << /F 5 0 R >> >> >>",
               width, height);
    add_stream(&objects[3], "", (struct bytes){ (const uint8_t *)drawing.bytes, drawing.n });
    buf_add_str(&objects[4], "<< /Type /Font /Subtype /Type0 /BaseFont /LUDWIG+DejaVuSansMono "
                             "/Encoding /Identity-H /DescendantFonts [6 0 R] /ToUnicode 9 0 R >>");
    buf_add_str(&objects[5],
                "<< /Type /Font /Subtype /CIDFontType2 /BaseFont /LUDWIG+DejaVuSansMono "
                "/CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> "
                "/FontDescriptor 7 0 R /DW 602 /CIDToGIDMap /Identity >>");
    buf_add_str(&objects[6], "<< /Type /FontDescriptor /FontName /LUDWIG+DejaVuSansMono /Flags 5 "
                             "/FontBBox [-558 -375 718 1042] /ItalicAngle 0 /Ascent 928 "
                             "/Descent -236 /CapHeight 729 /StemV 80 /FontFile2 8 0 R >>");
    buf_printf(&length, " /Length1 %zu", file.n);
    add_stream(&objects[7], buf_text(&length), file);
    add_pdf_characters(&objects[8], font);
    /* the second line tells other programs that the file is binary */
    buf_add_str(out, "%PDF-1.4\n%\xc3\xa4\xc3\xb6 drawn by ludwig\n");
    for (size_t i = 0; i < N_OBJECTS; i++) {
        places[i] = out->n - begin;
        buf_printf(out, "%zu 0 obj\n", i + 1);
        buf_add(out, objects[i].bytes, objects[i].n);
        buf_add_str(out, "\nendobj\n");
        buf_free(&objects[i]);
    }
    xref = out->n - begin;
    buf_printf(out, "xref\n0 %d\n0000000000 65535 f \n", N_OBJECTS + 1);
    for (size_t i = 0; i < N_OBJECTS; i++)
        buf_printf(out, "%010zu 00000 n \n", places[i]);
    buf_printf(out, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%zu\n%%%%EOF\n", N_OBJECTS + 1,
               xref);
    buf_free(&drawing);
    buf_free(&length);
}

int picture_add(struct buf *out, const struct shapes *s, size_t columns, size_t rows,
                enum picture_form form, struct err *e)
{
    double width = 2 * MARGIN + (double)columns * CELL_WIDTH;
    double height = 2 * MARGIN + (double)rows * CELL_HEIGHT;
    struct font font;
    int result = 0;

    if (form == PICTURE_SVG) {
        add_svg(out, s, width, height);
        return 0;
    }
    if (font_open(&font, e) < 0)
        return -1;
    if (form == PICTURE_PNG)
        result = add_png(out, s, &font, width, height, e);
    else
        add_pdf(out, s, &font, width, height);
    font_close(&font);
    return result;
}
