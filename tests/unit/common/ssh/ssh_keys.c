/* SPDX-License-Identifier: MIT */
/* ssh_keys.c - tests of whose a certificate is */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/ssh/ssh_keys.h"

/* Made with ssh-keygen, by a key that is not kept. */
static const char ed25519_1_key[] =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIG47JZUTIN9blJQdInrf9/SQJPWNECl0Ow6KfUTxAjRk me";
static const char ed25519_1_cert[] =
    "ssh-ed25519-cert-v01@openssh.com AAAAIHNzaC1lZDI1NTE5LWNlcnQtdjAxQG9wZW5zc2guY29tAAAAIBIe2"
    "TT9l1dIrXqVjUJcCDlvAJdHVerVsvLG6n1qSp4CAAAAIG47JZUTIN9blJQdInrf9/SQJPWNECl0Ow6KfUTxAjRkAAA"
    "AAAAAAAAAAAABAAAAAm1lAAAABgAAAAJtZQAAAAAAAAAA//////////8AAAAAAAAAggAAABVwZXJtaXQtWDExLWZvc"
    "ndhcmRpbmcAAAAAAAAAF3Blcm1pdC1hZ2VudC1mb3J3YXJkaW5nAAAAAAAAABZwZXJtaXQtcG9ydC1mb3J3YXJkaW5"
    "nAAAAAAAAAApwZXJtaXQtcHR5AAAAAAAAAA5wZXJtaXQtdXNlci1yYwAAAAAAAAAAAAAAMwAAAAtzc2gtZWQyNTUxO"
    "QAAACDFPlsNKG8ngvIMQTmZ8I+BtdT7zSJxuin+ZRJrKRSrGAAAAFMAAAALc3NoLWVkMjU1MTkAAABAjkHec7CpQnj"
    "Ha6B9jMyaaEQuDAkfTNSa/ODM8T3MuXqnfpZQsiE+JPqThyN4lYelR2Au+JEBJ+hDENXflAJFCg== me";
static const char ed25519_2_key[] =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAICy++STtQt/NAIHFU2OlzBzxSSLzxfJHLAkdSkhMnw4T me";
static const char ecdsa_1_key[] =
    "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBI7y1I8rYhYnoK5tsQ"
    "TM0HEnSBNaPBb4CmY6hH15CKha8e0hHbUb07//bVC1E1dyHCwpoj2hAYOw4CRV4h8fxUU= me";
static const char ecdsa_1_cert[] =
    "ecdsa-sha2-nistp256-cert-v01@openssh.com AAAAKGVjZHNhLXNoYTItbmlzdHAyNTYtY2VydC12MDFAb3Blb"
    "nNzaC5jb20AAAAgrNR2ENq/zhuayodJlkqVF3iFe7/37ppGdOQerrZrmkwAAAAIbmlzdHAyNTYAAABBBI7y1I8rYhY"
    "noK5tsQTM0HEnSBNaPBb4CmY6hH15CKha8e0hHbUb07//bVC1E1dyHCwpoj2hAYOw4CRV4h8fxUUAAAAAAAAAAAAAA"
    "AEAAAACbWUAAAAGAAAAAm1lAAAAAAAAAAD//////////wAAAAAAAACCAAAAFXBlcm1pdC1YMTEtZm9yd2FyZGluZwA"
    "AAAAAAAAXcGVybWl0LWFnZW50LWZvcndhcmRpbmcAAAAAAAAAFnBlcm1pdC1wb3J0LWZvcndhcmRpbmcAAAAAAAAAC"
    "nBlcm1pdC1wdHkAAAAAAAAADnBlcm1pdC11c2VyLXJjAAAAAAAAAAAAAAAzAAAAC3NzaC1lZDI1NTE5AAAAIMU+Ww0"
    "obyeC8gxBOZnwj4G11PvNInG6Kf5lEmspFKsYAAAAUwAAAAtzc2gtZWQyNTUxOQAAAEDo2k5GyablMKOBxDv/SLSw5"
    "uu8ELy6250yDDZtcGYAhTRIHdpjSC6Un0+gXXTJobBwNbEM/ftF7Bci+yof9K4P me";

static void a_certificate_belongs_to_its_key_alone(void **state)
{
    static const struct {
        const char *certificate, *key;
        bool is;
        const char *what;
    } cases[] = {
        { ed25519_1_cert, ed25519_1_key, true, "its key" },
        { ecdsa_1_cert, ecdsa_1_key, true, "its key, of another type" },
        { ed25519_1_cert, ed25519_2_key, false, "another key" },
        { ed25519_1_cert, ecdsa_1_key, false, "a key of another type" },
        { ed25519_1_key, ed25519_1_key, false, "no certificate but the key itself" },
        { ed25519_1_cert, ed25519_1_cert, false, "no key" },
        { ed25519_1_cert, "", false, "nothing" },
        { "", ed25519_1_key, false, "no certificate" },
        { ed25519_1_cert, "ssh-ed25519 AAAA", false, "a key cut short" },
        { "x AAAAAQ==", ed25519_1_key, false, "a certificate cut short" },
        { ed25519_1_cert, "ssh-ed25519 ----", false, "no base64" },
        { ed25519_1_cert, "ssh-ed25519", false, "one word" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (ssh_keys_is_certificate_of(cases[i].certificate, cases[i].key) != cases[i].is)
            fail_msg("%s", cases[i].what);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_certificate_belongs_to_its_key_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
