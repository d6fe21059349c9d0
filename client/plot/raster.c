/* SPDX-License-Identifier: MIT */
/* raster.c - draws shapes as the dots of a PNG: FreeType fills them, libpng writes the file */
#include "client/plot/raster.h"

#include <math.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>

#include FT_OUTLINE_H
#include FT_STROKER_H

#include "common/base/mem.h"

/* A point has DOTS dots, that is, 216 dots an inch; FreeType counts in 64ths of a dot. */
enum { DOTS = 3, PARTS = 64, CHANNELS = 3, WHITE = 255 };

struct raster {
    const struct font *font;
    FT_Stroker stroker; /* NULL: no memory for it, and no lines are drawn */
    size_t width, height;
    uint8_t *dots; /* row after row from the top, CHANNELS bytes a dot */
    uint8_t rgb[CHANNELS];
};

struct raster *raster_create(const struct font *font, double width, double height)
{
    struct raster *r = mem_alloc(sizeof *r);

    *r = (struct raster){ .font = font,
                          .width = (size_t)ceil(width * DOTS),
                          .height = (size_t)ceil(height * DOTS) };
    r->dots = mem_alloc(r->width * r->height * CHANNELS);
    memset(r->dots, WHITE, r->width * r->height * CHANNELS);
    if (FT_Stroker_New(font->library, &r->stroker) != 0)
        r->stroker = NULL;
    return r;
}

void raster_destroy(struct raster *r)
{
    FT_Stroker_Done(r->stroker);
    free(r->dots);
    free(r);
}

void raster_colour(struct raster *r, const uint8_t rgb[3])
{
    memcpy(r->rgb, rgb, CHANNELS);
}

static FT_Pos parts_of(double points)
{
    return lround(points * DOTS * PARTS);
}

/* Colours the spans of a row that an outline covers, each by its share of coverage. */
static void on_spans(int y, int n, const FT_Span *spans, void *context)
{
    const struct raster *r = context;

    if (y < 0 || (size_t)y >= r->height)
        return;
    for (int i = 0; i < n; i++)
        for (int x = spans[i].x; x < spans[i].x + spans[i].len; x++) {
            uint8_t *dot;

            if (x < 0 || (size_t)x >= r->width)
                continue;
            dot = r->dots + ((r->height - 1 - (size_t)y) * r->width + (size_t)x) * CHANNELS;
            for (size_t c = 0; c < CHANNELS; c++)
                dot[c] = (uint8_t)((dot[c] * (WHITE - spans[i].coverage) +
                                    r->rgb[c] * spans[i].coverage) /
                                   WHITE);
        }
}

static void fill(struct raster *r, FT_Outline *outline)
{
    FT_Raster_Params params = { .flags = FT_RASTER_FLAG_AA | FT_RASTER_FLAG_DIRECT,
                                .gray_spans = on_spans,
                                .user = r };

    params.clip_box = (FT_BBox){ 0, 0, (FT_Pos)r->width, (FT_Pos)r->height };
    params.flags |= FT_RASTER_FLAG_CLIP;
    (void)FT_Outline_Render(r->font->library, outline, &params);
}

void raster_line(struct raster *r, const double from[2], const double to[2], double width)
{
    FT_Vector begin = { parts_of(from[0]), parts_of(from[1]) };
    FT_Vector end = { parts_of(to[0]), parts_of(to[1]) };
    FT_UInt n_points = 0, n_contours = 0;
    FT_Outline outline;

    if (r->stroker == NULL)
        return;
    end.x += begin.x == end.x && begin.y == end.y; /* a dot: a line of length 0 has no ends */
    FT_Stroker_Set(r->stroker, parts_of(width / 2), FT_STROKER_LINECAP_ROUND,
                   FT_STROKER_LINEJOIN_ROUND, 0);
    if (FT_Stroker_BeginSubPath(r->stroker, &begin, 1) != 0 ||
        FT_Stroker_LineTo(r->stroker, &end) != 0 || FT_Stroker_EndSubPath(r->stroker) != 0 ||
        FT_Stroker_GetCounts(r->stroker, &n_points, &n_contours) != 0 ||
        FT_Outline_New(r->font->library, n_points, (FT_Int)n_contours, &outline) != 0)
        return;
    outline.n_points = outline.n_contours = 0; /* FT_Stroker_Export appends */
    FT_Stroker_Export(r->stroker, &outline);
    fill(r, &outline);
    FT_Outline_Done(r->font->library, &outline);
}

void raster_fill(struct raster *r, const double corners[8])
{
    enum { CORNERS = 4 };
    FT_Outline outline;

    if (FT_Outline_New(r->font->library, CORNERS, 1, &outline) != 0)
        return;
    for (size_t i = 0; i < CORNERS; i++) {
        outline.points[i] = (FT_Vector){ parts_of(corners[2 * i]), parts_of(corners[2 * i + 1]) };
        outline.tags[i] = FT_CURVE_TAG_ON;
    }
    outline.contours[0] = CORNERS - 1;
    fill(r, &outline);
    FT_Outline_Done(r->font->library, &outline);
}

void raster_glyph(struct raster *r, double x, double y, double size, FT_UInt glyph, bool is_bold)
{
    static const double bold = 0.045; /* a bold glyph is thicker by this part of its size */
    FT_Face face = r->font->face;

    if (FT_Set_Char_Size(face, 0, parts_of(size), 0, 0) != 0 ||
        FT_Load_Glyph(face, glyph, FT_LOAD_NO_HINTING | FT_LOAD_NO_BITMAP) != 0 ||
        face->glyph->format != FT_GLYPH_FORMAT_OUTLINE)
        return;
    if (is_bold)
        FT_Outline_Embolden(&face->glyph->outline, parts_of(size * bold));
    FT_Outline_Translate(&face->glyph->outline, parts_of(x), parts_of(y));
    fill(r, &face->glyph->outline);
}

int raster_add_png(struct buf *out, const struct raster *r, struct err *e)
{
    enum { BEFORE_TEXT = 8 + 25 }; /* the signature and IHDR, of every PNG */
    /* client/pack/source_kind.c knows our files by this text; the last 4 bytes are a CRC. */
    static const char text[] = "\0\0\0\x17tEXtComment\0drawn by ludwig\xff\xbe\x4d\xb2";
    png_image image = { .version = PNG_IMAGE_VERSION,
                        .width = (png_uint_32)r->width,
                        .height = (png_uint_32)r->height,
                        .format = PNG_FORMAT_RGB };
    png_alloc_size_t n = PNG_IMAGE_PNG_SIZE_MAX(image);
    uint8_t *bytes = mem_alloc(n);
    bool is_well = png_image_write_to_memory(&image, bytes, &n, 0, r->dots, 0, NULL) != 0;

    if (is_well) {
        buf_add(out, bytes, BEFORE_TEXT);
        buf_add(out, text, sizeof text - 1);
        buf_add(out, bytes + BEFORE_TEXT, n - BEFORE_TEXT);
    }
    free(bytes);
    return is_well ? 0 : err_set(e, ERR_INTERNAL, "the picture: libpng: %s", image.message);
}
