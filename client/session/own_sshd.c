/* SPDX-License-Identifier: MIT */
/* own_sshd.c - the sshd of the user's own server: its address, and the keys that it lets in */
#include "client/session/own_sshd.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/util/child.h"
#include "common/data/authorized_keys.h"
#include "common/base/io.h"
#include "common/base/path.h"
#include "common/base/units.h"
#include "common/proto/endpoint.h"

#define MARK "ludwig:" /* before the name, in a line's comment */

enum {
    LISTEN_MAX_BYTES = 256,
    TABLE_MAX_BYTES = 64 * 1024 * 1024,
    LOOK_EVERY_MS = 50,
    FILE_MAX_BYTES = 16 * 1024,
    KEYS_MAX_BYTES = 1024 * 1024,
    NAME_MAX_BYTES = 64,
    SAID_MAX_BYTES = 256 * 1024,
    LOCK_MAX_MS = 10 * 1000
};

/* ---- address ---- */

char *own_sshd_listen(const char *state)
{
    char *path = path_join(state, "sshd"), *listen = NULL;
    struct buf text = { 0 };

    if (io_read_file(path, LISTEN_MAX_BYTES, &text, NULL) == 0 && text.n > 0)
        listen = mem_strndup(buf_text(&text), strcspn(buf_text(&text), "\n"));
    buf_free(&text);
    free(path);
    return listen;
}

int own_sshd_set_listen(const char *state, const char *listen, struct err *e)
{
    char *path = path_join(state, "sshd"), *text;
    int rc = 0;

    if (listen == NULL) {
        if (unlink(path) < 0 && errno != ENOENT)
            rc = err_sys(e, "remove %s", path);
    } else {
        text = mem_printf("%s\n", listen);
        rc = io_replace_file(path, text, strlen(text), 0600, e);
        free(text);
    }
    free(path);
    return rc;
}

char *own_sshd_dir(const char *state)
{
    return mem_printf("%s/server/sshd", state);
}

/* ---- listening processes ---- */

struct listeners {
    bool own, others;
};

/* Finds listeners on a port by the kernel's table: to connect would count as a guest's try. */
static struct listeners find_listeners(const char *table, int port)
{
    enum { LISTENING = 0x0a };
    struct listeners found = { 0 };
    struct buf text = { 0 };
    char *rest = NULL, *line = NULL;

    if (io_read_file(table, TABLE_MAX_BYTES, &text, NULL) == 0 && buf_text(&text)[0] != '\0')
        line = strtok_r((char *)text.bytes, "\n", &rest);
    for (; line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        unsigned local_port, state, uid;

        /* "  0: 00000000:1B6E 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000 ..." */
        if (sscanf(line, " %*u: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f:] %x %*s %*s %*s %u", &local_port,
                   &state, &uid) != 3 ||
            local_port != (unsigned)port || state != LISTENING)
            continue;
        found.own |= uid == geteuid();
        found.others |= uid != geteuid();
    }
    buf_free(&text);
    return found;
}

bool own_sshd_listens(int port, int timeout_ms)
{
    int64_t until_ms = units_monotonic_ms() + timeout_ms;

    for (;;) {
        struct listeners v4 = find_listeners("/proc/net/tcp", port),
                         v6 = find_listeners("/proc/net/tcp6", port);

        /* An sshd that finds the port taken for IPv4 listens on IPv6 alone, until ludwigd ends
         * it. */
        if (v4.own || (v6.own && !v4.others))
            return true;
        if (units_monotonic_ms() >= until_ms)
            return false;
        (void)poll(NULL, 0, LOOK_EVERY_MS);
    }
}

/* ---- invitations ---- */

static const struct field invitation_fields[] = {
    FIELD(struct invitation, name, FIELD_STR, FIELD_REQUIRED, 64),
    FIELD(struct invitation, fingerprint, FIELD_STR, FIELD_REQUIRED, 128),
    FIELD(struct invitation, server, FIELD_STR, FIELD_REQUIRED, 4096),
    FIELD(struct invitation, known_hosts, FIELD_STR, FIELD_REQUIRED, 16384),
};

const struct schema invitation_schema = SCHEMA(struct invitation, "invitation", invitation_fields);

static int read_file(const char *dir, const char *name, struct buf *text, struct err *e)
{
    char *path = path_join(dir, name);
    int rc = io_read_file(path, FILE_MAX_BYTES, text, e);

    free(path);
    return rc < 0 ? err_wrap(e, "ludwigd's sshd") : 0;
}

int own_sshd_port(const char *dir, struct err *e)
{
    struct buf text = { 0 };
    int port = -1;

    if (read_file(dir, "address", &text, e) == 0) {
        port = atoi(buf_text(&text));
        if (port <= 0)
            port = err_set(e, ERR_FAILED, "%s/address says no port", dir);
    }
    buf_free(&text);
    return port;
}

const char *own_sshd_address(const char *dir, struct arena *a)
{
    const char *address = NULL, *line;
    struct buf text = { 0 };

    if (read_file(dir, "address", &text, NULL) == 0 &&
        (line = strchr(buf_text(&text), '\n')) != NULL)
        address = arena_strndup(a, line + 1, strcspn(line + 1, "\n"));
    buf_free(&text);
    if (address == NULL || address[0] == '\0' || strcmp(address, "0.0.0.0") == 0 ||
        strcmp(address, "::") == 0)
        return NULL;
    return address;
}

int own_sshd_invite(struct invitation *i, const char *dir, const char *user, const char *host,
                    struct arena *a, struct err *e)
{
    bool is_v6 = strchr(host, ':') != NULL;
    int port = own_sshd_port(dir, e);
    struct buf text = { 0 };
    const char *key;
    struct endpoint ep;
    size_t n;

    if (port < 0 || read_file(dir, "hostkey.pub", &text, e) < 0) {
        buf_free(&text);
        return -1;
    }
    /* The host key without its comment. */
    key = buf_text(&text);
    n = strcspn(key, " ");
    n += key[n] == ' ' ? 1 + strcspn(key + n + 1, " \n") : 0;
    i->server = arena_printf(a, is_v6 ? "ssh://%s@[%s]:%d" : "ssh://%s@%s:%d", user, host, port);
    i->known_hosts = arena_printf(a, "[%s]:%d %.*s", host, port, (int)n, key);
    buf_free(&text);
    return endpoint_parse(&ep, i->server, a, e);
}

static const struct field guest_fields[] = {
    FIELD(struct guest, name, FIELD_STR, FIELD_REQUIRED, NAME_MAX_BYTES),
    FIELD(struct guest, type, FIELD_STR, FIELD_REQUIRED, 64),
    FIELD(struct guest, fingerprint, FIELD_STR, FIELD_REQUIRED, 128),
};

const struct schema guest_schema = SCHEMA(struct guest, "guest", guest_fields);

/* ---- keys ---- */

static const char base64_letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                     "0123456789+/=";

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

/* Copies the word at *at, and moves *at behind it. */
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

int own_sshd_parse_key(const char *text, struct arena *a, struct public_key *key, struct err *e)
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
    if (key->blob[0] == '\0' || key->blob[strspn(key->blob, base64_letters)] != '\0')
        return not_a_key("behind the type there is no key", e);
    return 0;
}

/* ---- names ---- */

static const char name_letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                   "0123456789._@-";

static int check_name(const char *name, struct err *e)
{
    if (name[0] != '\0' && name[0] != '-' && strlen(name) <= NAME_MAX_BYTES &&
        strspn(name, name_letters) == strlen(name))
        return 0;
    return err_set(e, ERR_USAGE,
                   "'%s' cannot be a name (letters, digits and . _ @ -, at most %d of them)", name,
                   NAME_MAX_BYTES);
}

const char *own_sshd_name_of(const char *comment, struct arena *a)
{
    size_t n = strlen(comment);
    char *name;

    while (n > 0 && strchr("-.@_", comment[0]) != NULL)
        comment++, n--;
    name = arena_strndup(a, comment, n < NAME_MAX_BYTES ? n : NAME_MAX_BYTES);
    for (char *at = name; *at != '\0'; at++)
        if (strchr(name_letters, *at) == NULL)
            *at = '-';
    return check_name(name, NULL) == 0 ? name : NULL;
}

/* ---- the file ---- */

static int read_keys(const char *dir, struct buf *text, struct err *e)
{
    char *path = path_join(dir, "authorized_keys");
    int rc = io_read_file(path, KEYS_MAX_BYTES, text, e);

    free(path);
    return rc;
}

/* Reads the next line "restrict TYPE BLOB ludwig:NAME", moves *at behind it; false at the end. */
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

/* Waits for the lock, so that two commands at once do not lose each other's key. */
static int lock_keys(const char *dir, struct err *e)
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

/* Writes, or with is_in false removes, the line of a guest. */
static int edit_line(const char *dir, const struct guest *g, const char *blob, bool is_in,
                     struct err *e)
{
    char *path = path_join(dir, "authorized_keys");
    char *mark = mem_printf("%s %s " MARK "%s", g->type, blob, g->name);
    char *line = mem_printf("restrict %s", mark);
    int rc = authorized_keys_edit(path, mark, is_in ? line : NULL, e);

    free(line);
    free(mark);
    free(path);
    return rc;
}

/* ---- fingerprints ---- */

/* Gives a key's fingerprint.  Call it under the lock, as it writes the key into a file for
 * ssh-keygen, which prints "256 SHA256:... comment (ED25519)". */
static int fingerprint_of(const char *dir, const char *type, const char *blob, struct arena *a,
                          const char **fingerprint, struct err *e)
{
    char *path = path_join(dir, "key"), *text = mem_printf("%s %s\n", type, blob);
    const char *const words[] = { "ssh-keygen", "-l", "-f", path, NULL };
    struct buf said = { 0 };
    const char *at;
    int rc = io_replace_file(path, text, strlen(text), 0600, e);

    if (rc == 0) {
        rc = child_capture(words, SAID_MAX_BYTES, &said, e);
        if (rc > 0)
            rc = err_set(e, ERR_USAGE, "ssh-keygen does not take it for a public key");
    }
    at = buf_text(&said);
    if (rc == 0) {
        (void)take_word(a, &at);
        *fingerprint = take_word(a, &at);
    }
    (void)unlink(path);
    buf_free(&said);
    free(text);
    free(path);
    return rc;
}

/* ---- reading and changing ---- */

int own_sshd_guests(const char *dir, struct arena *a, struct list *guests, struct err *e)
{
    size_t capacity = 0;
    struct guest *items = NULL, g;
    struct buf text = { 0 };
    const char *at, *blob;
    int fd = lock_keys(dir, e), rc;

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

int own_sshd_let_in(const char *dir, const struct public_key *key, const char *name,
                    struct arena *a, struct guest *guest, struct err *e)
{
    int fd = check_name(name, e) < 0 ? -1 : lock_keys(dir, e), rc;
    bool is_taken = false, is_in = false;
    struct buf text = { 0 };
    const char *at, *blob;
    struct guest g;

    *guest = (struct guest){ .type = key->type, .name = name };
    if (fd < 0)
        return -1;
    rc = fingerprint_of(dir, key->type, key->blob, a, &guest->fingerprint, e);
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
    if (rc == 0 && !is_in && is_taken)
        rc = err_set(e, ERR_EXISTS,
                     "another key is called %s already; choose another name with --name, or take "
                     "that one back with --revoke %s",
                     name, name);
    else if (rc == 0 && !is_in)
        rc = edit_line(dir, guest, key->blob, true, e);
    buf_free(&text);
    close(fd);
    return rc;
}

int own_sshd_take_back(const char *dir, const char *name, struct arena *a, struct err *e)
{
    struct buf text = { 0 };
    const char *at, *blob;
    bool is_found = false;
    struct guest g;
    int fd = lock_keys(dir, e), rc;

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
