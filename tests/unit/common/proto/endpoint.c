/* SPDX-License-Identifier: MIT */
/* endpoint.c - tests of the addresses of servers */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "common/proto/endpoint.h"

static void assert_text(const char *text, const char *expected)
{
    if (expected == NULL)
        assert_null(text);
    else
        assert_string_equal(text, expected);
}

static void addresses_are_taken_apart(void **state)
{
    static const struct {
        const char *text;
        enum endpoint_kind kind;
        const char *user, *host;
        int port;
        const char *path, *keys;
    } cases[] = {
        { "unix:/run/s.sock", ENDPOINT_UNIX, NULL, NULL, 0, "/run/s.sock", NULL },
        { "unix:/with space", ENDPOINT_UNIX, NULL, NULL, 0, "/with space", NULL },
        { "ssh://host", ENDPOINT_SSH, NULL, "host", 0, NULL, NULL },
        { "ssh://host/", ENDPOINT_SSH, NULL, "host", 0, NULL, NULL },
        { "ssh://my_alias", ENDPOINT_SSH, NULL, "my_alias", 0, NULL, NULL },
        { "ssh://me@a.example:2222", ENDPOINT_SSH, "me", "a.example", 2222, NULL, NULL },
        { "ssh://me@dom@host", ENDPOINT_SSH, "me@dom", "host", 0, NULL, NULL },
        { "ssh://DOM\\me@host", ENDPOINT_SSH, "DOM\\me", "host", 0, NULL, NULL },
        { "ssh://me@host/srv/.ludwig/s.sock", ENDPOINT_SSH, "me", "host", 0, "/srv/.ludwig/s.sock",
          NULL },
        { "ssh://host/a@b:c", ENDPOINT_SSH, NULL, "host", 0, "/a@b:c", NULL },
        { "ssh://10.0.0.1:65535", ENDPOINT_SSH, NULL, "10.0.0.1", 65535, NULL, NULL },
        { "ssh://[::1]", ENDPOINT_SSH, NULL, "::1", 0, NULL, NULL },
        { "ssh://me@[fe80::1%eth0]:22/s", ENDPOINT_SSH, "me", "fe80::1%eth0", 22, "/s", NULL },
        { "ssh://me@h:22?keys=/a/b@c", ENDPOINT_SSH, "me", "h", 22, NULL, "/a/b@c" },
        { "ssh://h/s?keys=/a", ENDPOINT_SSH, NULL, "h", 0, "/s", "/a" },
        { "unix:/r/s?boot=a.example", ENDPOINT_UNIX, NULL, "a.example", 0, "/r/s", NULL },
        { "unix:/s?keys=/a", ENDPOINT_UNIX, NULL, NULL, 0, "/s?keys=/a", NULL },
        { "share:/srv/my data", ENDPOINT_SHARE, NULL, NULL, 0, "/srv/my data", NULL },
    };
    struct arena *a = arena_create();

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct endpoint ep;
        struct err e = { 0 };

        if (endpoint_parse(&ep, cases[i].text, a, &e) < 0)
            fail_msg("%s", e.text);
        assert_string_equal(ep.text, cases[i].text);
        assert_int_equal(ep.kind, cases[i].kind);
        assert_text(ep.user, cases[i].user);
        assert_text(ep.host, cases[i].host);
        assert_int_equal(ep.port, cases[i].port);
        assert_text(ep.path, cases[i].path);
        assert_text(ep.keys, cases[i].keys);
    }
    arena_destroy(a);
}

static void a_wrong_address_says_what_is_wrong_with_it(void **state)
{
    static const struct {
        const char *text;
        const char *words;
    } cases[] = {
        { "", "is no address of a server (write unix:" },
        { "host", "is no address of a server" },
        { "http://host", "is no address of a server" },
        { "ssh:host", "is no address of a server" },
        { "unix:", "an absolute path is expected" },
        { "unix:server.sock", "an absolute path is expected" },
        { "unix:?boot=h", "an absolute path is expected" },
        { "unix:/s?boot=", "'' is no boot id" },
        { "unix:/s?boot=a/b", "'a/b' is no boot id" },
        { "unix:/a\nb", "an absolute path is expected" },
        { "share:srv", "an absolute path is expected, as in share:/srv/data" },
        { "ssh://h?keys=", "behind ?keys= an absolute path is expected" },
        { "ssh://", "names no host" },
        { "ssh://me@", "names no host" },
        { "ssh://:22", "names no host" },
        { "ssh:///run/s.sock", "names no host" },
        { "ssh://me:secret@host", "a password has no place in an address" },
        { "ssh://@host", "'' cannot be the name of a user" },
        { "ssh://-oProxyCommand=x@host", "cannot be the name of a user" },
        { "ssh://a;b@host", "'a;b' cannot be the name of a user" },
        { "ssh://-v", "'-v' cannot be the name of a host" },
        { "ssh://$(id)", "'$(id)' cannot be the name of a host" },
        { "ssh://a b", "'a b' cannot be the name of a host" },
        { "ssh://host:", "'' is no port" },
        { "ssh://host:0", "'0' is no port (1 to 65535)" },
        { "ssh://host:65536", "'65536' is no port" },
        { "ssh://host:99999999999999999999", "is no port" },
        { "ssh://host:22x", "'22x' is no port" },
        { "ssh://::1", "is written in brackets: ssh://[::1]" },
        { "ssh://[::1", "is written as in ssh://[::1]:22" },
        { "ssh://[::1]22", "is written as in ssh://[::1]:22" },
        { "ssh://[host]", "'host' is no IPv6 address" },
        { "ssh://[:$x]", "':$x' is no IPv6 address" },
        { "ssh://h/a\x01", "has control characters" },
        { "ssh://h/0123456789012345678901234567890123456789012345678901234567890123456789"
          "01234567890123456789012345678901234567",
          "at most 107 bytes" },
    };
    struct arena *a = arena_create();

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct endpoint ep;
        struct err e = { 0 };

        if (endpoint_parse(&ep, cases[i].text, a, &e) == 0)
            fail_msg("'%s' was taken", cases[i].text);
        assert_int_equal(e.kind, ERR_USAGE);
        if (strstr(e.text, cases[i].words) == NULL)
            fail_msg("'%s' does not say '%s'", e.text, cases[i].words);
    }
    arena_destroy(a);
}

static void a_password_is_not_repeated(void **state)
{
    struct arena *a = arena_create();
    struct endpoint ep;
    struct err e = { 0 };

    (void)state;
    assert_int_equal(endpoint_parse(&ep, "ssh://me:secret@host", a, &e), -1);
    assert_null(strstr(e.text, "secret"));
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_are_taken_apart),
        cmocka_unit_test(a_wrong_address_says_what_is_wrong_with_it),
        cmocka_unit_test(a_password_is_not_repeated),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
