/* SPDX-License-Identifier: MIT */
/* pilotkey.c - the line of authorized_keys, and the host keys */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/proto/layout.h"
#include "server/pilot/pilotkey.h"

#define MARK LAYOUT_PILOT_KEY "5eed"

static void the_key_may_run_one_command(void **state)
{
    static const struct {
        const char *ludwig, *socket_path, *key, *line; /* NULL: refused */
    } cases[] = {
        { "/opt/ludwig", "/run/s", "ssh-ed25519 AAAA comment\n",
          "restrict,command=\"'/opt/ludwig' bridge --no-sftp '/run/s'\" ssh-ed25519 AAAA " MARK },
        { "/a \"b\"/ludwig", "/it's", "t k",
          "restrict,command=\"'/a \\\"b\\\"/ludwig' bridge --no-sftp '/it'\\''s'\" t k " MARK },
        { "/a\nb", "/s", "t k", NULL },
        { "/a", "/s\\", "t k", NULL },
        { "/a", "/s", "t", NULL },
        { "/a", "/s", "", NULL },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf out = { 0 };
        struct err e = { 0 };
        int rc = pilotkey_line(cases[i].ludwig, cases[i].socket_path, cases[i].key, MARK, &out, &e);

        assert_int_equal(rc, cases[i].line == NULL ? -1 : 0);
        assert_string_equal(buf_text(&out), cases[i].line == NULL ? "" : cases[i].line);
        buf_free(&out);
    }
}

static void host_keys_are_known_by_one_name(void **state)
{
    struct buf out = { 0 };

    (void)state;
    pilotkey_known_hosts(
        "# h:22 SSH-2.0-OpenSSH_9.2\nh ssh-rsa A\n[h]:7 ssh-ed25519 B\n\nnonsense\n", &out);
    assert_string_equal(buf_text(&out), "ludwigd ssh-rsa A\nludwigd ssh-ed25519 B\n");
    buf_free(&out);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_key_may_run_one_command),
        cmocka_unit_test(host_keys_are_known_by_one_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
