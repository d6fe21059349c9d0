/* SPDX-License-Identifier: MIT */
/* authorized_keys.c - read and write the keys that may come in through ludwigd's own sshd */
#include "client/session/authorized_keys.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/util/child.h"
#include "common/base/io.h"
#include "common/base/path.h"
#include "common/base/units.h"

#define MARK "ludwig:" /* before the name, in a line's comment */

enum {
    KEYS_MAX_BYTES = 1024 * 1024,
    NAME_MAX_BYTES = 64,
    SAID_MAX_BYTES = 256 * 1024,
    LOCK_MAX_MS = 10 * 1000,
    LOOK_EVERY_MS = 20
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

int authorized_keys_parse_key(const char *text, struct arena *a, struct public_key *key,
                              struct err *e)
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

int authorized_keys_check_name(const char *name, struct err *e)
{
    if (name[0] != '\0' && name[0] != '-' && strlen(name) <= NAME_MAX_BYTES &&
        strspn(name, name_letters) == strlen(name))
        return 0;
    return err_set(e, ERR_USAGE,
                   "'%s' cannot be a name (letters, digits and . _ @ -, at most %d of them)", name,
                   NAME_MAX_BYTES);
}

const char *authorized_keys_name_of(const char *comment, struct arena *a)
{
    size_t n = strlen(comment);
    char *name;

    while (n > 0 && strchr("-.@_", comment[0]) != NULL)
        comment++, n--;
    name = arena_strndup(a, comment, n < NAME_MAX_BYTES ? n : NAME_MAX_BYTES);
    for (char *at = name; *at != '\0'; at++)
        if (strchr(name_letters, *at) == NULL)
            *at = '-';
    return authorized_keys_check_name(name, NULL) == 0 ? name : NULL;
}

/* ---- what is there ---- */

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

/* "restrict TYPE BLOB ludwig:NAME" */
static bool parse_line(const char *line, size_t n, struct arena *a, struct guest *g,
                       const char **blob)
{
    const char *at = arena_strndup(a, line, n), *mark;

    if (strcmp(take_word(a, &at), "restrict") != 0)
        return false;
    g->type = take_word(a, &at);
    *blob = take_word(a, &at);
    mark = take_word(a, &at);
    if (!is_key_type(g->type) || strncmp(mark, MARK, strlen(MARK)) != 0)
        return false;
    g->name = mark + strlen(MARK);
    return true;
}

/* Calls each with every line of a guest's; those for which it answers true stay, and all others. */
struct walk {
    bool (*keeps)(void *context, const struct guest *g, const char *blob);
    void *context;
    struct arena *arena;
    struct buf kept;
};

static void walk(struct walk *w, const char *text)
{
    while (*text != '\0') {
        size_t n = strcspn(text, "\n");
        struct guest g = { 0 };
        const char *blob = NULL;

        if (!parse_line(text, n, w->arena, &g, &blob) || w->keeps(w->context, &g, blob)) {
            buf_add(&w->kept, text, n);
            buf_add_char(&w->kept, '\n');
        }
        text += n + (text[n] == '\n');
    }
}

/* ---- one at a time ---- */

/* Waits for its turn: two commands at once do not lose each other's key. */
static int lock(const char *dir, struct err *e)
{
    int64_t until_ms = units_monotonic_ms() + LOCK_MAX_MS;
    char *path = path_join(dir, "keys.lock");
    struct err why = { 0 };
    int fd;

    while ((fd = io_lock_file(path, &why)) < 0 && why.kind == ERR_BUSY &&
           units_monotonic_ms() < until_ms)
        (void)poll(NULL, 0, LOOK_EVERY_MS);
    if (fd < 0 && why.kind == ERR_BUSY)
        err_set(e, ERR_BUSY, "another `ludwig invite` is at it for %d s; try again",
                LOCK_MAX_MS / 1000);
    else if (fd < 0)
        err_set(e, why.kind, "%s", why.text);
    free(path);
    return fd;
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

/* ---- reading ---- */

struct reading {
    const char *dir;
    struct arena *arena;
    struct guest *items;
    size_t n, capacity;
};

static bool collect(void *context, const struct guest *g, const char *blob)
{
    struct reading *r = context;
    const char *fingerprint = "";

    mem_grow((void **)&r->items, &r->capacity, r->n, sizeof *r->items);
    r->items[r->n] = *g;
    (void)fingerprint_of(r->dir, g->type, blob, r->arena, &fingerprint, NULL);
    r->items[r->n++].fingerprint = fingerprint;
    return true;
}

static int read_locked(struct reading *r, struct list *guests, struct err *e)
{
    struct walk w = { .keeps = collect, .context = r, .arena = r->arena };
    struct buf text = { 0 };
    int rc = read_keys(r->dir, &text, e);

    if (rc == 0) {
        walk(&w, buf_text(&text));
        *guests = (struct list){ arena_alloc(r->arena, (r->n + 1) * sizeof *r->items), r->n };
        if (r->n > 0)
            memcpy(guests->items, r->items, r->n * sizeof *r->items);
    }
    buf_free(&w.kept);
    buf_free(&text);
    return rc;
}

int authorized_keys_read(const char *dir, struct arena *a, struct list *guests, struct err *e)
{
    struct reading r = { .dir = dir, .arena = a };
    int fd = lock(dir, e), rc;

    if (fd < 0)
        return -1;
    rc = read_locked(&r, guests, e);
    close(fd);
    free(r.items);
    return rc;
}

/* ---- changing ---- */

static int write_keys(const char *dir, const struct buf *text, struct err *e)
{
    char *path = keys_path(dir);
    int rc = io_replace_file(path, text->bytes, text->n, 0600, e);

    free(path);
    return rc;
}

struct adding {
    const struct public_key *key;
    const char *name;
    const char *has_name; /* that the key has already */
    bool is_taken;        /* the name, by another key */
};

static bool compare(void *context, const struct guest *g, const char *blob)
{
    struct adding *adding = context;

    if (strcmp(g->type, adding->key->type) == 0 && strcmp(blob, adding->key->blob) == 0)
        adding->has_name = g->name;
    else if (strcmp(g->name, adding->name) == 0)
        adding->is_taken = true;
    return true;
}

static int append(const char *dir, const struct adding *adding, struct buf *kept, struct err *e)
{
    if (adding->is_taken)
        return err_set(e, ERR_EXISTS,
                       "another key is called %s already; choose another name with --name, or take "
                       "that one back with --revoke %s",
                       adding->name, adding->name);
    buf_printf(kept, "restrict %s %s " MARK "%s\n", adding->key->type, adding->key->blob,
               adding->name);
    return write_keys(dir, kept, e);
}

static int add_locked(const char *dir, struct adding *adding, struct arena *a,
                      const char **fingerprint, struct err *e)
{
    struct walk w = { .keeps = compare, .context = adding, .arena = a };
    struct buf text = { 0 };
    int rc = fingerprint_of(dir, adding->key->type, adding->key->blob, a, fingerprint, e);

    if (rc == 0)
        rc = read_keys(dir, &text, e);
    if (rc == 0)
        walk(&w, buf_text(&text));
    if (rc == 0 && adding->has_name == NULL)
        rc = append(dir, adding, &w.kept, e);
    buf_free(&w.kept);
    buf_free(&text);
    return rc;
}

int authorized_keys_add(const char *dir, const struct public_key *key, const char *name,
                        struct arena *a, struct guest *guest, struct err *e)
{
    struct adding adding = { .key = key, .name = name };
    int fd = authorized_keys_check_name(name, e) < 0 ? -1 : lock(dir, e), rc;

    *guest = (struct guest){ .type = key->type };
    if (fd < 0)
        return -1;
    rc = add_locked(dir, &adding, a, &guest->fingerprint, e);
    close(fd);
    guest->name = adding.has_name != NULL ? adding.has_name : name;
    return rc;
}

struct removal {
    const char *name;
    bool is_found;
};

static bool is_other(void *context, const struct guest *g, const char *blob)
{
    struct removal *r = context;

    (void)blob;
    if (strcmp(g->name, r->name) != 0)
        return true;
    r->is_found = true;
    return false;
}

static int remove_locked(const char *dir, const char *name, struct arena *a, struct err *e)
{
    struct removal r = { .name = name };
    struct walk w = { .keeps = is_other, .context = &r, .arena = a };
    struct buf text = { 0 };
    int rc = read_keys(dir, &text, e);

    if (rc == 0)
        walk(&w, buf_text(&text));
    if (rc == 0)
        rc = r.is_found ? write_keys(dir, &w.kept, e)
                        : err_set(e, ERR_NOT_FOUND, "no key is called %s (see --list)", name);
    buf_free(&w.kept);
    buf_free(&text);
    return rc;
}

int authorized_keys_remove(const char *dir, const char *name, struct arena *a, struct err *e)
{
    int fd = lock(dir, e), rc;

    if (fd < 0)
        return -1;
    rc = remove_locked(dir, name, a, e);
    close(fd);
    return rc;
}
