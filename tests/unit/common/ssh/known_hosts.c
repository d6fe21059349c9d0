/* SPDX-License-Identifier: MIT */
/* known_hosts.c - tests of what is known of a host's key */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/ssh/known_hosts.h"

static void names_patterns_and_hashes_mean_hosts(void **state)
{
    static const struct {
        const char *names;
        const char *host;
        bool is;
    } cases[] = {
        { "host", "host", true },
        { "host", "HOST", true },
        { "Host.Example", "host.example", true },
        { "host", "host2", false },
        { "a,host,b", "host", true },
        { "a,,host", "host", true },
        { "*.example", "a.example", true },
        { "*.example", "example", false },
        { "h?st", "host", true },
        { "h?st", "hst", false },
        { "*,!bad", "good", true },
        { "*,!bad", "bad", false },
        { "!bad,*", "bad", false },
        { "!bad", "good", false },
        { "[host]:2222", "[host]:2222", true },
        { "[host]:2222", "host", false },
        { "[*]:2222", "[host]:2222", true },
        { "", "host", false },
        { "|1|MDAwMDAwMDAwMDAwMDAwMDAwMDA=|B5NERXdlOh/hqu72FldLLEnxhv4=", "fileserver", true },
        { "|1|MDAwMDAwMDAwMDAwMDAwMDAwMDA=|B5NERXdlOh/hqu72FldLLEnxhv4=", "FileServer", true },
        { "|1|MDAwMDAwMDAwMDAwMDAwMDAwMDA=|B5NERXdlOh/hqu72FldLLEnxhv4=", "fileserve", false },
        { "|1|", "host", false },
        { "|1|MDAw|MDAw", "host", false },
        { "|1|MDAwMDAwMDAwMDAwMDAwMDAwMDA=", "host", false },
        { "|2|MDAwMDAwMDAwMDAwMDAwMDAwMDA=|B5NERXdlOh/hqu72FldLLEnxhv4=", "fileserver", false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (known_hosts_match(cases[i].names, cases[i].host) != cases[i].is)
            fail_msg("'%s' %s '%s'", cases[i].names, cases[i].is ? "is not" : "is", cases[i].host);
}

/* Made by ssh-keygen -H. */
static void a_name_that_ssh_keygen_hashed_is_found(void **state)
{
    static const char hashed[] = "|1|wWTLIIHs4gT8QzxISQV17fFP688=|6ADzCyAYvW49yEMc/t2wc++IqVo=";

    (void)state;
    assert_true(known_hosts_match(hashed, "[127.0.0.1]:7322"));
    assert_false(known_hosts_match(hashed, "127.0.0.1"));
}

static void write_file(char *path, const char *text)
{
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(io_write_all(fd, text, strlen(text)), 0);
    close(fd);
}

static void the_verdict_on_a_key_is_that_of_all_files(void **state)
{
    static const struct {
        const char *first, *second;
        enum known_verdict verdict;
        int file; /* which one says so; -1: none */
    } cases[] = {
        { "", "", KNOWN_NOT, -1 },
        { "host ssh-ed25519 AAAA\n", "", KNOWN_YES, 0 },
        { "", "host ssh-ed25519 AAAA", KNOWN_YES, 1 },
        { "host ssh-ed25519 BBBB\n", "", KNOWN_CHANGED, 0 },
        { "host ssh-ed25519 BBBB\n", "host ssh-ed25519 AAAA\n", KNOWN_YES, 1 },
        { "host ssh-rsa BBBB\n", "", KNOWN_OTHER_TYPE, 0 },
        { "host ssh-rsa BBBB\nhost ssh-ed25519 CCCC\n", "", KNOWN_CHANGED, 0 },
        { "other ssh-ed25519 AAAA\n", "", KNOWN_NOT, -1 },
        { "# host ssh-ed25519 AAAA\n\n  \nhost\nhost ssh-ed25519\n", "", KNOWN_NOT, -1 },
        { "nonsense\nhost sk-ssh-ed25519@openssh.com XX\n\thost\tssh-ed25519\tAAAA\tcomment\n", "",
          KNOWN_YES, 0 },
        { "host ssh-ed25519 AAAA\n@revoked * ssh-ed25519 AAAA\n", "", KNOWN_REVOKED, 0 },
        { "host ssh-ed25519 AAAA\n", "@revoked elsewhere ssh-ed25519 AAAA\n", KNOWN_REVOKED, 1 },
        { "@revoked host ssh-ed25519 BBBB\n", "", KNOWN_NOT, -1 },
        { "@cert-authority * ssh-ed25519 AAAA\n", "", KNOWN_NOT, -1 },
    };
    const struct known_key key = { "host", "ssh-ed25519", "AAAA" };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char first[] = "/tmp/ludwig-known-XXXXXX", second[] = "/tmp/ludwig-known-XXXXXX";
        const char *files[] = { first, "/nonexistent", second };
        const struct list list = { files, 3 };
        struct known_answer answer;

        write_file(first, cases[i].first);
        write_file(second, cases[i].second);
        answer = known_hosts_ask(&list, &key);
        if (answer.verdict != cases[i].verdict)
            fail_msg("case %zu: %d", i, (int)answer.verdict);
        if (cases[i].file < 0)
            assert_null(answer.file);
        else
            assert_ptr_equal(answer.file, cases[i].file == 0 ? first : second);
        unlink(first);
        unlink(second);
    }
}

static void types_that_are_known_are_listed(void **state)
{
    char path[] = "/tmp/ludwig-known-XXXXXX";
    const char *files[] = { path };
    const struct list list = { files, 1 };
    struct buf out = { 0 };

    (void)state;
    write_file(path,
               "host ssh-rsa A\nother ssh-dss B\n@revoked host ssh-dss C\nho* ssh-ed25519 D\n");
    known_hosts_types(&list, "host", &out);
    assert_string_equal(buf_text(&out), "ssh-rsa,ssh-ed25519,");
    buf_free(&out);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_patterns_and_hashes_mean_hosts),
        cmocka_unit_test(a_name_that_ssh_keygen_hashed_is_found),
        cmocka_unit_test(the_verdict_on_a_key_is_that_of_all_files),
        cmocka_unit_test(types_that_are_known_are_listed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
