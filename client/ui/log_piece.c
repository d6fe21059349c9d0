/* SPDX-License-Identifier: MIT */
/* log_piece.c - reads a piece of a job's log for the live page */
#include "client/ui/log_piece.h"

static int read_piece(struct share_input *file, int64_t from, int64_t before,
                      struct log_piece *piece, struct buf *out, struct err *e)
{
    int64_t end;

    if (share_input_size(file, &piece->size, e) < 0)
        return -1;
    end = before >= 0 && before < piece->size ? before : piece->size;
    piece->begin = from < 0 || before >= 0 ? end - LOG_PIECE_MAX_BYTES : from;
    piece->begin = piece->begin < 0 ? 0 : piece->begin > piece->size ? piece->size : piece->begin;
    if (end > piece->begin + LOG_PIECE_MAX_BYTES)
        end = piece->begin + LOG_PIECE_MAX_BYTES;
    piece->end = piece->begin;
    share_seek_input(file, piece->begin);
    while (piece->end < end) {
        size_t want = (size_t)(end - piece->end);
        ssize_t n = share_read_input(file, buf_reserve(out, want), want, e);

        if (n < 0)
            return -1;
        if (n == 0)
            break; /* the log became shorter */
        buf_added(out, (size_t)n);
        piece->end += n;
    }
    return 1;
}

int log_piece_read(const struct share_dir *fs, const char *path, int64_t from, int64_t before,
                   struct log_piece *piece, struct buf *out, struct err *e)
{
    struct err why = { 0 };
    struct share_input *file = share_open_input(fs, path, 0, &why);
    int result;

    *piece = (struct log_piece){ 0 };
    if (file == NULL)
        return why.kind == ERR_NOT_FOUND ? 0 : err_set(e, why.kind, "%s", why.text);
    result = read_piece(file, from, before, piece, out, e);
    share_close_input(file);
    return result;
}
