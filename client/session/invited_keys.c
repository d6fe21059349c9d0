/* SPDX-License-Identifier: MIT */
/* invited_keys.c - read and write the keys that may come in through ludwigd's own sshd */
#include "client/session/invited_keys.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/util/child.h"
#include "common/data/authorized_keys.h"
#include "common/base/io.h"
#include "common/base/path.h"

#define MARK "ludwig:" /* before the name, in a line's comment */

enum {
    KEYS_MAX_BYTES = 1024 * 1024,
    NAME_MAX_BYTES = 64,
    SAID_MAX_BYTES = 256 * 1024,
    LOCK_MAX_MS = 10 * 1000
};

static const struct field guest_fields[] = {
    FIELD(struct guest, name, FIELD_STR, FIELD_REQUIRED, NAME_MAX_BYTES),
    FIELD(struct guest, type, FIELD_STR, FIELD_REQUIRED, 64),
    FIELD(struct guest, fingerprint, FIELD_STR, FIELD_REQUIRED, 128),
};

const struct schema guest_schema = SCHEMA(struct guest, "guest", guest_fields);

/* ---- keys ---- */

static const char *const key_types[] = { "ssh-ed25519",
                                         "ecdsa-sha2-nistp256",
                                         "ecdsa-sha2-nistp384",
                                         "ecdsa-sha2-nistp521",
                                         "ssh-rsa",
                                         "sk-ssh-ed25519@openssh.com",
                                         "sk-ecdsa-sha2-nistp256@openssh.com" };

static bool is_key_type(const char *word)
{
    for (size_t i = 0; i < sizeof key_types / sizeof key_types[0]; i++)
        if (strcmp(word, key_types[i]) == 0)
            return true;
    return false;
}

static bool is_base64(const char *word)
{
    return word[0] != '\0' && strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                           "0123456789+/=") == strlen(word);
}

/* Takes the word at *at out of the text, and goes behind it. */
static const char *take_word(struct arena *a, const char **at)
{
    const char *begin = *at + strspn(*at, " \t");
    size_t n = strcspn(begin, " \t");

    *at = begin + n;
    return arena_strndup(a, begin, n);
}

static int not_a_key(const char *why, struct err *e)
{
    return err_set(e, ERR_USAGE,
                   "%s (expected one line such as: ssh-ed25519 AAAA... alice@laptop, as "
                   "~/.ssh/id_ed25519.pub has it)",
                   why);
}

int invited_keys_parse_key(const char *text, struct arena *a, struct public_key *key, struct err *e)
{
    size_t n = strlen(text);
    const char *at;

    while (n > 0 && strchr(" \t\r\n", text[n - 1]) != NULL)
        n--;
    at = arena_strndup(a, text, n);
    if (strncmp(at, "-----BEGIN", 10) == 0)
        return err_set(e, ERR_USAGE,
                       "that is a private key, which is to stay where it is; the "
                       "public one is in the file of the same name with .pub");
    if (strpbrk(at, "\r\n") != NULL)
        return not_a_key("one key at a time", e);
    key->type = take_word(a, &at);
    key->blob = take_word(a, &at);
    key->comment = at + strspn(at, " \t");
    if (!is_key_type(key->type))
        return not_a_key("it does not begin with the type of a key", e);
    return is_base64(key->blob) ? 0 : not_a_key("behind the type there is no key", e);
}

/* ---- names ---- */

static const char name_letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                   "0123456789._@-";

int invited_keys_check_name(const char *name, struct err *e)
{
    if (name[0] != '\0' && name[0] != '-' && strlen(name) <= NAME_MAX_BYTES &&
        strspn(name, name_letters) == strlen(name))
        return 0;
    return err_set(e, ERR_USAGE,
                   "'%s' cannot be a name (letters, digits and . _ @ -, at most %d of them)", name,
                   NAME_MAX_BYTES);
}

const char *invited_keys_name_of(const char *comment, struct arena *a)
{
    size_t n = strlen(comment);
    char *name;

    while (n > 0 && strchr("-.@_", comment[0]) != NULL)
        comment++, n--;
    name = arena_strndup(a, comment, n < NAME_MAX_BYTES ? n : NAME_MAX_BYTES);
    for (char *at = name; *at != '\0'; at++)
        if (strchr(name_letters, *at) == NULL)
            *at = '-';
    return invited_keys_check_name(name, NULL) == 0 ? name : NULL;
}

/* ---- the file ---- */

static char *keys_path(const char *dir)
{
    return path_join(dir, "authorized_keys");
}

static int read_keys(const char *dir, struct buf *text, struct err *e)
{
    char *path = keys_path(dir);
    int rc = io_read_file(path, KEYS_MAX_BYTES, text, e);

    free(path);
    return rc;
}

/* The next line "restrict TYPE BLOB ludwig:NAME" at or behind *at, which goes behind it; false: there is
 * none. */
static bool next_guest(const char **at, struct arena *a, struct guest *g, const char **blob)
{
    while (**at != '\0') {
        size_t n = strcspn(*at, "\n");
        const char *word = arena_strndup(a, *at, n), *mark;
        bool is_ours = strcmp(take_word(a, &word), "restrict") == 0;

        *at += n + ((*at)[n] == '\n');
        g->type = take_word(a, &word);
        *blob = take_word(a, &word);
        mark = take_word(a, &word);
        g->name = mark + strlen(MARK);
        if (is_ours && is_key_type(g->type) && strncmp(mark, MARK, strlen(MARK)) == 0)
            return true;
    }
    return false;
}

/* Waits for its turn: two commands at once do not lose each other's key. */
static int lock(const char *dir, struct err *e)
{
    char *path = path_join(dir, "keys.lock");
    struct err why = { 0 };
    int fd = io_lock_file_within(path, LOCK_MAX_MS, &why);

    if (fd < 0 && why.kind == ERR_BUSY)
        err_set(e, ERR_BUSY, "another `ludwig invite` is at it for %d s; try again",
                LOCK_MAX_MS / 1000);
    else if (fd < 0)
        err_set(e, why.kind, "%s", why.text);
    free(path);
    return fd;
}

/* The line of a guest; is_in: it shall be there. */
static int edit_line(const char *dir, const struct guest *g, const char *blob, bool is_in,
                     struct err *e)
{
    char *path = keys_path(dir), *mark = mem_printf("%s %s " MARK "%s", g->type, blob, g->name);
    char *line = mem_printf("restrict %s", mark);
    int rc = authorized_keys_edit(path, mark, is_in ? line : NULL, e);

    free(line);
    free(mark);
    free(path);
    return rc;
}

/* ---- fingerprints ---- */

/* What ssh-keygen says of a file with one public key: "256 SHA256:... comment (ED25519)". */
static int fingerprint_of_file(const char *path, struct arena *a, const char **fingerprint,
                               struct err *e)
{
    const char *const words[] = { "ssh-keygen", "-l", "-f", path, NULL };
    struct buf said = { 0 };
    const char *at;
    int status = child_capture(words, SAID_MAX_BYTES, &said, e);

    at = buf_text(&said);
    if (status == 0) {
        (void)take_word(a, &at);
        *fingerprint = take_word(a, &at);
    } else if (status > 0) {
        err_set(e, ERR_USAGE, "ssh-keygen does not take it for a public key");
    }
    buf_free(&said);
    return status == 0 ? 0 : -1;
}

/* Under the lock: it writes the key into a file for it. */
static int fingerprint_of(const char *dir, const char *type, const char *blob, struct arena *a,
                          const char **fingerprint, struct err *e)
{
    char *path = path_join(dir, "key");
    char *text = mem_printf("%s %s\n", type, blob);
    int rc = io_replace_file(path, text, strlen(text), 0600, e);

    if (rc == 0)
        rc = fingerprint_of_file(path, a, fingerprint, e);
    (void)unlink(path);
    free(text);
    free(path);
    return rc;
}

/* ---- reading and changing ---- */

int invited_keys_read(const char *dir, struct arena *a, struct list *guests, struct err *e)
{
    size_t capacity = 0;
    struct guest *items = NULL, g;
    struct buf text = { 0 };
    const char *at, *blob;
    int fd = lock(dir, e), rc;

    if (fd < 0)
        return -1;
    rc = read_keys(dir, &text, e);
    *guests = (struct list){ 0 };
    for (at = buf_text(&text); rc == 0 && next_guest(&at, a, &g, &blob);) {
        g.fingerprint = "";
        (void)fingerprint_of(dir, g.type, blob, a, &g.fingerprint, NULL);
        mem_grow((void **)&items, &capacity, guests->n, sizeof *items);
        items[guests->n++] = g;
    }
    guests->items = arena_alloc(a, (guests->n + 1) * sizeof *items);
    if (items != NULL)
        memcpy(guests->items, items, guests->n * sizeof *items);
    close(fd);
    free(items);
    buf_free(&text);
    return rc;
}

static int add_locked(const char *dir, const struct public_key *key, struct arena *a,
                      struct guest *guest, struct err *e)
{
    const char *name = guest->name, *at, *blob;
    bool is_taken = false, is_in = false;
    struct buf text = { 0 };
    struct guest g;
    int rc = fingerprint_of(dir, key->type, key->blob, a, &guest->fingerprint, e);

    if (rc == 0)
        rc = read_keys(dir, &text, e);
    for (at = buf_text(&text); rc == 0 && next_guest(&at, a, &g, &blob);) {
        if (strcmp(g.type, key->type) == 0 && strcmp(blob, key->blob) == 0) {
            guest->name = g.name;
            is_in = true;
        } else if (strcmp(g.name, name) == 0) {
            is_taken = true;
        }
    }
    buf_free(&text);
    if (rc < 0 || is_in)
        return rc;
    if (is_taken)
        return err_set(e, ERR_EXISTS,
                       "another key is called %s already; choose another name with --name, or take "
                       "that one back with --revoke %s",
                       name, name);
    return edit_line(dir, guest, key->blob, true, e);
}

int invited_keys_add(const char *dir, const struct public_key *key, const char *name,
                     struct arena *a, struct guest *guest, struct err *e)
{
    int fd = invited_keys_check_name(name, e) < 0 ? -1 : lock(dir, e), rc;

    *guest = (struct guest){ .type = key->type, .name = name };
    if (fd < 0)
        return -1;
    rc = add_locked(dir, key, a, guest, e);
    close(fd);
    return rc;
}

int invited_keys_remove(const char *dir, const char *name, struct arena *a, struct err *e)
{
    struct buf text = { 0 };
    const char *at, *blob;
    bool is_found = false;
    struct guest g;
    int fd = lock(dir, e), rc;

    if (fd < 0)
        return -1;
    rc = read_keys(dir, &text, e);
    for (at = buf_text(&text); rc == 0 && !is_found && next_guest(&at, a, &g, &blob);)
        is_found = strcmp(g.name, name) == 0;
    if (rc == 0)
        rc = is_found ? edit_line(dir, &g, blob, false, e)
                      : err_set(e, ERR_NOT_FOUND, "no key is called %s (see --list)", name);
    close(fd);
    buf_free(&text);
    return rc;
}
