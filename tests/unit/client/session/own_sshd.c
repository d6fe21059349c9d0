/* SPDX-License-Identifier: MIT */
/* own_sshd.c - public keys: taken only as such, let in, listed, taken back */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/session/own_sshd.h"
#include "common/base/io.h"
#include "common/base/path.h"
#include "tests/unit/skip.h"

static const char blob[] = "AAAAC3NzaC1lZDI1NTE5AAAAIFuHgX+MjMNKhIGPdU1IhYh1CX0OFHqfC2Ck4Wj0aJ5e";
static const char other_blob[] =
    "AAAAC3NzaC1lZDI1NTE5AAAAIIm4MZ8CXB3sdxy4BWvJ/6rFGYdaEjRh4AmLTbe6kaTq";

static const struct {
    const char *text;
    const char *comment; /* NULL: refused */
    const char *what;
} keys[] = {
    { "ssh-ed25519 AAAA alice@laptop\n", "alice@laptop", "as a file has it" },
    { "ssh-ed25519 AAAA", "", "without a comment" },
    { "  ssh-rsa\tAAAA  two words \r\n\n", "two words", "with blanks around" },
    { "ecdsa-sha2-nistp256 AA+/= x", "x", "another type" },
    { "sk-ssh-ed25519@openssh.com AAAA x", "x", "of a token" },
    { "", NULL, "nothing" },
    { "\n", NULL, "an empty line" },
    { "ssh-dss AAAA x", NULL, "a type of old" },
    { "ssh-ed25519", NULL, "a type alone" },
    { "ssh-ed25519 A;A x", NULL, "no base64" },
    { "restrict ssh-ed25519 AAAA", NULL, "an option" },
    { "command=\"sh\" ssh-ed25519 AAAA", NULL, "a command" },
    { "ssh-ed25519 AAAA x\nssh-ed25519 AAAA y", NULL, "two keys" },
    { "ssh-ed25519 AAAA x\r* ssh-rsa", NULL, "a hidden line" },
    { "-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl\n", NULL, "a private key" },
    { "cert-authority ssh-ed25519 AAAA", NULL, "an authority" },
};

static void only_one_public_key_without_options_is_taken(void **state)
{
    struct arena *a = arena_create();

    (void)state;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        struct public_key key;
        struct err e = { 0 };
        int rc = own_sshd_parse_key(keys[i].text, a, &key, &e);

        if (rc != (keys[i].comment == NULL ? -1 : 0) ||
            (rc == 0 && strcmp(key.comment, keys[i].comment) != 0))
            fail_msg("%s: %d %s", keys[i].what, rc, e.text);
        if (rc < 0)
            assert_int_equal(e.kind, ERR_USAGE);
    }
    arena_destroy(a);
}

static void a_name_is_made_of_the_comment(void **state)
{
    static const struct {
        const char *comment, *name;
    } cases[] = {
        { "alice@laptop", "alice@laptop" },
        { "two words", "two-words" },
        { "--x", "x" },
        { "", NULL },
        { "...", NULL },
        { "x\ny", "x-y" },
    };
    struct arena *a = arena_create();

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *name = own_sshd_name_of(cases[i].comment, a);

        if (cases[i].name == NULL)
            assert_null(name);
        else
            assert_string_equal(name, cases[i].name);
    }
    arena_destroy(a);
}

/* ---- the file ---- */

struct place {
    char *dir;
    struct arena *arena;
};

static struct place place_open(const char *content)
{
    char template[] = "/tmp/ludwig-unit-XXXXXX";
    struct place p = { .arena = arena_create() };
    char *path;

    assert_non_null(mkdtemp(template));
    p.dir = mem_strdup(template);
    path = path_join(p.dir, "authorized_keys");
    assert_int_equal(io_replace_file(path, content, strlen(content), 0600, NULL), 0);
    free(path);
    return p;
}

static void place_close(struct place *p)
{
    assert_int_equal(io_remove_tree(p->dir, NULL), 0);
    arena_destroy(p->arena);
    free(p->dir);
}

static void must_be(const struct place *p, const char *content)
{
    char *path = path_join(p->dir, "authorized_keys");
    struct buf text = { 0 };
    struct stat st;

    assert_int_equal(io_read_file(path, 65536, &text, NULL), 0);
    assert_string_equal(buf_text(&text), content);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    buf_free(&text);
    free(path);
}

static struct public_key key_of(const char *text)
{
    return (struct public_key){ "ssh-ed25519", text, "" };
}

static void skip_without_ssh_keygen(void)
{
    if (access("/usr/bin/ssh-keygen", X_OK) < 0)
        skip_because("takes ssh-keygen");
}

static void a_key_is_added_with_restrict_and_its_name(void **state)
{
    static const char mine[] = "# mine\nssh-rsa AAAA by hand\n";
    struct place p = place_open(mine);
    struct public_key key = key_of(blob);
    struct guest g;
    struct err e = { 0 };
    char *whole = mem_printf("%srestrict ssh-ed25519 %s ludwig:laptop\n", mine, blob);

    (void)state;
    skip_without_ssh_keygen();
    if (own_sshd_let_in(p.dir, &key, "laptop", p.arena, &g, &e) < 0)
        fail_msg("%s", e.text);
    assert_string_equal(g.name, "laptop");
    assert_int_equal(strncmp(g.fingerprint, "SHA256:", 7), 0);
    must_be(&p, whole);
    /* Once more, by another name: it has one. */
    assert_int_equal(own_sshd_let_in(p.dir, &key, "other", p.arena, &g, &e), 0);
    assert_string_equal(g.name, "laptop");
    must_be(&p, whole);
    /* Another key by that name. */
    key = key_of(other_blob);
    assert_int_equal(own_sshd_let_in(p.dir, &key, "laptop", p.arena, &g, &e), -1);
    assert_int_equal(e.kind, ERR_EXISTS);
    must_be(&p, whole);
    free(whole);
    place_close(&p);
}

static void what_ssh_keygen_does_not_take_is_not_added(void **state)
{
    struct place p = place_open("");
    struct public_key key = key_of("AAAA");
    struct guest g;
    struct err e = { 0 };

    (void)state;
    skip_without_ssh_keygen();
    assert_int_equal(own_sshd_let_in(p.dir, &key, "x", p.arena, &g, &e), -1);
    assert_int_equal(e.kind, ERR_USAGE);
    key = key_of(blob);
    assert_int_equal(own_sshd_let_in(p.dir, &key, "x y", p.arena, &g, &e), -1);
    assert_int_equal(own_sshd_let_in(p.dir, &key, "x\ny", p.arena, &g, &e), -1);
    must_be(&p, "");
    place_close(&p);
}

static void a_key_is_taken_back_and_all_else_stays(void **state)
{
    struct place p = place_open("# mine\n"
                                "restrict ssh-ed25519 AAAA ludwig:one\n"
                                "ssh-ed25519 BBBB ludwig:two\n"
                                "restrict ssh-ed25519 CCCC ludwig:two\n");
    struct list guests;
    struct err e = { 0 };

    (void)state;
    assert_int_equal(own_sshd_guests(p.dir, p.arena, &guests, &e), 0);
    assert_int_equal(guests.n, 2);
    assert_int_equal(own_sshd_take_back(p.dir, "three", p.arena, &e), -1);
    assert_int_equal(e.kind, ERR_NOT_FOUND);
    assert_int_equal(own_sshd_take_back(p.dir, "two", p.arena, &e), 0);
    must_be(&p, "# mine\nrestrict ssh-ed25519 AAAA ludwig:one\nssh-ed25519 BBBB ludwig:two\n");
    place_close(&p);
}

/* Keys that differ in one letter. */
static void add_in_child(const struct place *p, char letter)
{
    struct arena *a = arena_create();
    char *text = mem_strdup(blob), name[] = { letter, '\0' };
    struct public_key key;
    struct guest g;
    int rc;

    text[40] = letter;
    key = key_of(text);
    rc = own_sshd_let_in(p->dir, &key, name, a, &g, NULL);
    arena_destroy(a);
    free(text);
    _exit(rc == 0 ? 0 : 1);
}

static void several_at_once_wait_for_each_other(void **state)
{
    static const char letters[] = "abcdefgh";
    struct place p = place_open("");
    struct list guests;
    pid_t pids[sizeof letters - 1];

    (void)state;
    skip_without_ssh_keygen();
    for (size_t i = 0; i < sizeof pids / sizeof pids[0]; i++) {
        pids[i] = fork();
        assert_true(pids[i] >= 0);
        if (pids[i] == 0)
            add_in_child(&p, letters[i]);
    }
    for (size_t i = 0; i < sizeof pids / sizeof pids[0]; i++) {
        int status = -1;

        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
    }
    assert_int_equal(own_sshd_guests(p.dir, p.arena, &guests, NULL), 0);
    assert_int_equal(guests.n, sizeof pids / sizeof pids[0]);
    place_close(&p);
}

static void an_invitation_names_host_port_and_host_key(void **state)
{
    static const char host_key[] = "ssh-ed25519 AAAAhost ludwigd\n";
    struct place p = place_open("");
    char *address = path_join(p.dir, "address"), *path = path_join(p.dir, "hostkey.pub");
    struct invitation i = { 0 };
    struct err e = { 0 };

    (void)state;
    assert_int_equal(own_sshd_invite(&i, p.dir, "alice", "login1", p.arena, &e), -1);
    assert_int_equal(io_replace_file(address, "12345\n\n", 7, 0600, NULL), 0);
    assert_int_equal(io_replace_file(path, host_key, strlen(host_key), 0644, NULL), 0);
    assert_int_equal(own_sshd_invite(&i, p.dir, "alice", "login1", p.arena, &e), 0);
    assert_string_equal(i.server, "ssh://alice@login1:12345");
    assert_string_equal(i.known_hosts, "[login1]:12345 ssh-ed25519 AAAAhost");
    assert_int_equal(own_sshd_invite(&i, p.dir, "alice", "fe80::1", p.arena, &e), 0);
    assert_string_equal(i.server, "ssh://alice@[fe80::1]:12345");
    assert_int_equal(own_sshd_invite(&i, p.dir, "alice", "a b", p.arena, &e), -1);
    free(address);
    free(path);
    place_close(&p);
}

static void the_one_address_that_is_listened_on_is_known(void **state)
{
    static const struct {
        const char *file, *address;
    } cases[] = {
        { "12345\n\n", NULL },   { "12345\n10.0.0.5\n", "10.0.0.5" }, { "12345\n0.0.0.0\n", NULL },
        { "12345\n::\n", NULL }, { "12345\nfe80::1", "fe80::1" },     { "12345", NULL },
    };
    struct place p = place_open("");
    char *path = path_join(p.dir, "address");

    (void)state;
    assert_null(own_sshd_address(p.dir, p.arena));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *address;

        assert_int_equal(io_replace_file(path, cases[i].file, strlen(cases[i].file), 0600, NULL),
                         0);
        address = own_sshd_address(p.dir, p.arena);
        if (cases[i].address == NULL)
            assert_null(address);
        else
            assert_string_equal(address, cases[i].address);
    }
    free(path);
    place_close(&p);
}

static void only_a_port_that_is_listened_on_counts(void **state)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), port;
    socklen_t n = sizeof at;

    (void)state;
    assert_int_equal(bind(fd, (const struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &n), 0);
    port = ntohs(at.sin_port);
    assert_false(own_sshd_listens(port, 0));
    assert_int_equal(listen(fd, 1), 0);
    assert_true(own_sshd_listens(port, 0));
    close(fd);
    assert_false(own_sshd_listens(port, 100));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_one_public_key_without_options_is_taken),
        cmocka_unit_test(a_name_is_made_of_the_comment),
        cmocka_unit_test(a_key_is_added_with_restrict_and_its_name),
        cmocka_unit_test(what_ssh_keygen_does_not_take_is_not_added),
        cmocka_unit_test(a_key_is_taken_back_and_all_else_stays),
        cmocka_unit_test(several_at_once_wait_for_each_other),
        cmocka_unit_test(the_one_address_that_is_listened_on_is_known),
        cmocka_unit_test(only_a_port_that_is_listened_on_counts),
        cmocka_unit_test(an_invitation_names_host_port_and_host_key),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
