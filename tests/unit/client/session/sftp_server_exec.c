/* SPDX-License-Identifier: MIT */
/* sftp_server_exec.c - tests of when a forced command is asked for SFTP */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "client/session/sftp_server_exec.h"

static void requests_for_sftp_are_told_from_commands(void **state)
{
    static const struct {
        const char *command;
        bool is;
    } cases[] = {
        { NULL, false },
        { "", false },
        { "internal-sftp", true },
        { "internal-sftp -l INFO", true },
        { "/usr/lib/openssh/sftp-server", true },
        { "/usr/lib/openssh/sftp-server -f AUTH", true },
        { "sftp-server", true },
        { "ludwig bridge", false },
        { "ludwig bridge '/srv/sftp-server'", false },
        { "x/internal-sftp", false },
        { "sftp-server2", false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (sftp_server_exec_is_meant(cases[i].command) != cases[i].is)
            fail_msg("'%s'", cases[i].command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_for_sftp_are_told_from_commands),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
