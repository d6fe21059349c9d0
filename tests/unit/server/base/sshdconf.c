/* SPDX-License-Identifier: MIT */
/* sshdconf.c - where ludwigd's own sshd listens, what it may, and which folders it wants */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/io.h"
#include "server/base/sshdconf.h"

static const struct {
    const char *text;
    const char *address; /* NULL: refused */
    int port;
} places[] = {
    { "7022", "", 7022 },
    { "*", "", 0 },
    { "*:7022", "", 7022 },
    { ":7022", "", 7022 },
    { "0", "", 0 },
    { "127.0.0.1", "127.0.0.1", 0 },
    { "127.0.0.1:7022", "127.0.0.1", 7022 },
    { "0.0.0.0:7022", "0.0.0.0", 7022 },
    { "[::1]:7022", "::1", 7022 },
    { "[::1]", "::1", 0 },
    { "fe80::1", "fe80::1", 0 },
    { "host", NULL, 0 },
    { "1.2.3", NULL, 0 },
    { "1.2.3.4.5:22", NULL, 0 },
    { "[dead.beef]:22", NULL, 0 },
    { "host:22", NULL, 0 },
    { "127.0.0.1:", NULL, 0 },
    { "127.0.0.1:70000", NULL, 0 },
    { "127.0.0.1:22x", NULL, 0 },
    { "[::1", NULL, 0 },
    { "[::1]x", NULL, 0 },
    { "127.0.0.1 22", NULL, 0 },
    { "1.2.3.4\nPermitRootLogin yes", NULL, 0 },
    { "-1", NULL, 0 },
};

static void a_place_to_listen_is_read_in_all_its_forms(void **state)
{
    struct arena *a = arena_create();

    (void)state;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        struct sshd_listen l;
        struct err e = { 0 };
        int rc = sshdconf_parse_listen(places[i].text, a, &l, &e);

        if (rc != (places[i].address == NULL ? -1 : 0) ||
            (rc == 0 && (strcmp(l.address, places[i].address) != 0 || l.port != places[i].port)))
            fail_msg("'%s': %d %s", places[i].text, rc, e.text);
        if (rc < 0)
            assert_int_equal(e.kind, ERR_USAGE);
    }
    arena_destroy(a);
}

static struct sshdconf usual(void)
{
    return (struct sshdconf){ .dir = "/home/alice/state/sshd",
                              .user = "alice",
                              .ludwig = "/opt/bin/ludwig",
                              .socket = "/run/x.sock",
                              .listen = { "", 7022 } };
}

static void must_have(const char *text, const char *line)
{
    char *whole = mem_printf("\n%s\n", line);

    if (strstr(text, whole) == NULL)
        fail_msg("lacks '%s':\n%s", line, text);
    free(whole);
}

static void keys_alone_are_taken_and_what_they_ask_for_is_replaced(void **state)
{
    static const char *const lines[] = {
        "Port 7022",
        "AuthenticationMethods publickey",
        "PasswordAuthentication no",
        "KbdInteractiveAuthentication no",
        "UsePAM no",
        "StrictModes yes",
        "DisableForwarding yes",
        "PermitTTY no",
        "PermitUserRC no",
        "PermitUserEnvironment no",
        "AllowUsers alice",
        "HostKey \"/home/alice/state/sshd/hostkey\"",
        "AuthorizedKeysFile \"/home/alice/state/sshd/authorized_keys\"",
        "Subsystem sftp internal-sftp",
        "ForceCommand '/opt/bin/ludwig' bridge '/run/x.sock'",
    };
    struct sshdconf c = usual();
    struct buf text = { 0 };
    struct err e = { 0 };

    (void)state;
    if (sshdconf_write(&c, &text, &e) < 0)
        fail_msg("%s", e.text);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        must_have(buf_text(&text), lines[i]);
    buf_free(&text);
}

static void an_address_is_listened_on_alone(void **state)
{
    struct sshdconf c = usual();
    struct buf text = { 0 };

    (void)state;
    c.listen.address = "127.0.0.1";
    assert_int_equal(sshdconf_write(&c, &text, NULL), 0);
    must_have(buf_text(&text), "ListenAddress 127.0.0.1:7022");
    assert_null(strstr(buf_text(&text), "\nPort "));
    buf_clear(&text);
    c.listen.address = "::1";
    assert_int_equal(sshdconf_write(&c, &text, NULL), 0);
    must_have(buf_text(&text), "ListenAddress [::1]:7022");
    buf_free(&text);
}

static void names_that_mean_something_else_there_are_refused(void **state)
{
    static const char *const bad[] = { "/home/al'ice",  "/home/al\"ice", "/home/%u",
                                       "/home/al\nice", "/home/al\\ice", "/home/*",
                                       "/home/a?",      "/home/[a]" };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        for (int which = 0; which < 3; which++) {
            struct sshdconf c = usual();
            struct buf text = { 0 };

            *(which == 0 ? &c.dir : which == 1 ? &c.ludwig : &c.socket) = bad[i];
            assert_int_equal(sshdconf_write(&c, &text, NULL), -1);
            buf_free(&text);
        }
    }
}

static void a_user_that_is_a_pattern_is_not_named(void **state)
{
    struct sshdconf c = usual();
    struct buf text = { 0 };

    (void)state;
    c.user = "alice@example.org";
    assert_int_equal(sshdconf_write(&c, &text, NULL), 0);
    assert_null(strstr(buf_text(&text), "AllowUsers"));
    buf_free(&text);
}

static void folders_up_to_the_home_must_be_closed_to_others(void **state)
{
    char template[] = "/tmp/ludwig-unit-XXXXXX";
    char *dir, *middle;
    struct err e = { 0 };

    (void)state;
    assert_non_null(mkdtemp(template));
    middle = mem_printf("%s/a", template);
    dir = mem_printf("%s/a/b", template);
    assert_int_equal(io_make_dirs(dir, 0700, NULL), 0);
    assert_int_equal(sshdconf_check_modes(dir, template, &e), 0);
    assert_int_equal(chmod(middle, 0720), 0);
    assert_int_equal(sshdconf_check_modes(dir, template, &e), -1);
    assert_non_null(strstr(e.text, "/a (mode 0720)"));
    /* Above the home nobody looks; /tmp itself is open to all. */
    assert_int_equal(sshdconf_check_modes(dir, dir, &e), 0);
    assert_int_equal(chmod(middle, 0700), 0);
    assert_int_equal(sshdconf_check_modes(dir, "/nowhere", &e), -1);
    assert_int_equal(io_remove_tree(template, NULL), 0);
    free(dir);
    free(middle);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_place_to_listen_is_read_in_all_its_forms),
        cmocka_unit_test(keys_alone_are_taken_and_what_they_ask_for_is_replaced),
        cmocka_unit_test(an_address_is_listened_on_alone),
        cmocka_unit_test(names_that_mean_something_else_there_are_refused),
        cmocka_unit_test(a_user_that_is_a_pattern_is_not_named),
        cmocka_unit_test(folders_up_to_the_home_must_be_closed_to_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
