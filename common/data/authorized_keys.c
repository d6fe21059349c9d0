/* SPDX-License-Identifier: MIT */
/* authorized_keys.c - changes one line of sshd's authorized_keys file and keeps the others */
#include "common/data/authorized_keys.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/io.h"
#include "common/base/mem.h"
#include "common/base/path.h"

enum { KEYS_MAX_BYTES = 4 * 1024 * 1024 };

static void add_line(struct buf *out, const char *line)
{
    if (out->n > 0 && out->bytes[out->n - 1] != '\n')
        buf_add_char(out, '\n');
    buf_printf(out, "%s\n", line);
}

void authorized_keys_replace(const char *text, const char *mark, const char *line, struct buf *out)
{
    size_t n_mark = strlen(mark);

    while (*text != '\0') {
        size_t whole = strcspn(text, "\n"), n = whole;

        while (n > 0 && (text[n - 1] == '\r' || text[n - 1] == ' '))
            n--;
        whole += text[whole] == '\n';
        if (n <= n_mark || text[n - n_mark - 1] != ' ' ||
            memcmp(text + n - n_mark, mark, n_mark) != 0) {
            buf_add(out, text, whole);
        } else if (line != NULL) {
            add_line(out, line);
            line = NULL;
        }
        text += whole;
    }
    if (line != NULL)
        add_line(out, line);
}

int authorized_keys_edit(const char *path, const char *mark, const char *line, struct err *e)
{
    char *real = path_real(path, NULL);
    const char *file = real != NULL ? real : path;
    struct buf before = { 0 }, after = { 0 };
    struct err why = { 0 };
    mode_t mode = 0600;
    struct stat st;
    int rc = io_read_file(file, KEYS_MAX_BYTES, &before, &why);

    if (rc < 0)
        rc = why.kind == ERR_NOT_FOUND ? 0 : err_set(e, why.kind, "%s", why.text);
    if (rc == 0 && strlen(buf_text(&before)) != before.n)
        rc = err_set(e, ERR_FAILED, "%s: it is no text", file);
    if (rc == 0) {
        if (stat(file, &st) == 0)
            mode = st.st_mode & 0777;
        authorized_keys_replace(buf_text(&before), mark, line, &after);
        if (strcmp(buf_text(&before), buf_text(&after)) != 0)
            rc = io_replace_file(file, after.bytes, after.n, mode, e);
    }
    buf_free(&after);
    buf_free(&before);
    free(real);
    return rc;
}
