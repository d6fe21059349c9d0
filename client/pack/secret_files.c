/* SPDX-License-Identifier: MIT */
/* secret_files.c - finds files with keys and passwords by their usual names and their content */
#include "client/pack/secret_files.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <string.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/path.h"

/* A private key stands at the front, or behind the certificates of a chain. */
enum { KEY_WITHIN_BYTES = 64 * 1024 };

static const struct {
    const char *name; /* a pattern */
    bool is_folder;
    bool is_key; /* counts only if a private key is in it */
    const char *kind;
} usual[] = {
    { ".ssh", true, false, "keys of ssh" },
    { ".aws", true, false, "keys of AWS" },
    { ".gnupg", true, false, "keys of gpg" },
    { ".netrc", false, false, "passwords" },
    { "_netrc", false, false, "passwords" },
    { ".env", false, false, "variables that are often secret" },
    { ".env.*", false, false, "variables that are often secret" },
    { ".git-credentials", false, false, "passwords" },
    { ".pypirc", false, false, "passwords" },
    { "id_*", false, true, "a private key" },
    { "*.pem", false, true, "a private key" },
    { "*.key", false, true, "a private key" },
};

/* Templates, which are meant to be shown to everybody. */
static const char *const harmless[] = { ".env.example", ".env.sample", ".env.template",
                                        ".env.dist" };

static bool has_key(const char *path)
{
    static const char words[] = "PRIVATE KEY-----";
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    struct buf text = { 0 };
    bool has = false;
    ssize_t n;

    if (fd < 0)
        return false;
    n = io_read_all(fd, buf_reserve(&text, KEY_WITHIN_BYTES), KEY_WITHIN_BYTES);
    buf_added(&text, n > 0 ? (size_t)n : 0);
    for (size_t i = 0; !has && i + strlen(words) <= text.n; i++)
        has = memcmp(text.bytes + i, words, strlen(words)) == 0;
    buf_free(&text);
    close(fd);
    return has;
}

const char *secret_files_kind(const struct walk_entry *entry)
{
    const char *name = path_basename(entry->from);

    if (entry->kind == PACK_SYMLINK)
        return NULL;
    for (size_t i = 0; i < sizeof harmless / sizeof harmless[0]; i++)
        if (strcmp(name, harmless[i]) == 0)
            return NULL;
    for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++)
        if (usual[i].is_folder == (entry->kind == PACK_FOLDER) &&
            fnmatch(usual[i].name, name, 0) == 0 && (!usual[i].is_key || has_key(entry->from)))
            return usual[i].kind;
    return NULL;
}
