/* SPDX-License-Identifier: MIT */
/* digest.c - SHA-256, and random identities */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/digest.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* From FIPS 180-2 and its example files. */
static const struct {
    const char *text, *hex;
} known[] = {
    { "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
    { "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
    { "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
};

static void the_digest_is_sha256(void **state)
{
    (void)state;
    for (size_t i = 0; i < LENGTH(known); i++) {
        struct digest d;
        char hex[DIGEST_HEX];

        digest_of(known[i].text, strlen(known[i].text), &d);
        digest_hex(&d, hex);
        assert_string_equal(hex, known[i].hex);
    }
}

static void a_hasher_takes_pieces_and_starts_anew_after_each_end(void **state)
{
    struct hasher *h = hasher_create();

    (void)state;
    for (size_t i = 0; i < LENGTH(known); i++) {
        struct digest d;
        char hex[DIGEST_HEX];

        for (const char *c = known[i].text; *c != '\0'; c++)
            hasher_add(h, c, 1);
        hasher_end(h, &d);
        digest_hex(&d, hex);
        assert_string_equal(hex, known[i].hex);
    }
    hasher_destroy(h);
    hasher_destroy(NULL);
}

static void a_file_is_hashed_from_where_it_stands(void **state)
{
    enum { SIZE = 1000003 };
    char *content = malloc(SIZE);
    char path[] = "/tmp/digest-XXXXXX";
    int fd = mkstemp(path);
    struct digest expected, d;
    uint64_t size = 0;
    struct err e = { 0 };

    (void)state;
    for (size_t i = 0; i < SIZE; i++)
        content[i] = (char)(i * i % 253);
    assert_int_equal(write(fd, content, SIZE), SIZE);
    assert_int_equal(lseek(fd, 3, SEEK_SET), 3);
    assert_int_equal(digest_of_fd(fd, &d, &size, &e), 0);
    digest_of(content + 3, SIZE - 3, &expected);
    assert_memory_equal(&d, &expected, sizeof d);
    assert_int_equal(size, SIZE - 3);
    close(fd);
    unlink(path);
    free(content);
}

static void what_cannot_be_read_is_an_error(void **state)
{
    struct digest d;
    struct err e = { 0 };
    int fd = open("/", O_RDONLY | O_CLOEXEC);

    (void)state;
    assert_int_equal(digest_of_fd(fd, &d, NULL, &e), -1);
    assert_int_equal(e.kind, ERR_FAILED);
    close(fd);
}

static void hex_leads_back_to_the_same_digest(void **state)
{
    struct digest d, parsed;
    char hex[DIGEST_HEX];

    (void)state;
    digest_of("x", 1, &d);
    digest_hex(&d, hex);
    assert_int_equal(digest_parse(hex, &parsed), 0);
    assert_memory_equal(&parsed, &d, sizeof d);
}

static void what_is_not_64_small_hex_digits_is_no_digest(void **state)
{
    char hex[DIGEST_HEX + 1];
    struct digest d = { { 1 } };

    (void)state;
    memset(hex, 'a', sizeof hex);
    hex[64] = '\0';
    assert_int_equal(digest_parse(hex, &(struct digest){ 0 }), 0);
    for (size_t i = 0; i < 64; i++) {
        hex[i] = "gG/:A \n`"[i % 8];
        assert_int_equal(digest_parse(hex, &d), -1);
        hex[i] = '\0';
        assert_int_equal(digest_parse(hex, &d), -1);
        hex[i] = 'a';
    }
    hex[64] = 'a';
    hex[65] = '\0';
    assert_int_equal(digest_parse(hex, &d), -1);
    assert_int_equal(d.bytes[0], 1);
}

static void no_two_tokens_are_equal(void **state)
{
    enum { COUNT = 200 };
    static struct token tokens[COUNT];

    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        token_make(&tokens[i]);
        assert_false(token_is_zero(&tokens[i]));
        for (size_t k = 0; k < i; k++)
            assert_false(token_equal(&tokens[i], &tokens[k]));
    }
    assert_true(token_is_zero(&(struct token){ 0 }));
}

static void hex_leads_back_to_the_same_token(void **state)
{
    struct token t, parsed = { 0 };
    char hex[TOKEN_HEX];

    (void)state;
    token_make(&t);
    token_hex(&t, hex);
    assert_int_equal(strlen(hex), 32);
    assert_int_equal(token_parse(hex, &parsed), 0);
    assert_true(token_equal(&t, &parsed));
    hex[31] = '\0';
    assert_int_equal(token_parse(hex, &parsed), -1);
    assert_int_equal(token_parse("00", &parsed), -1);
    assert_true(token_equal(&t, &parsed));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_digest_is_sha256),
        cmocka_unit_test(a_hasher_takes_pieces_and_starts_anew_after_each_end),
        cmocka_unit_test(a_file_is_hashed_from_where_it_stands),
        cmocka_unit_test(what_cannot_be_read_is_an_error),
        cmocka_unit_test(hex_leads_back_to_the_same_digest),
        cmocka_unit_test(what_is_not_64_small_hex_digits_is_no_digest),
        cmocka_unit_test(no_two_tokens_are_equal),
        cmocka_unit_test(hex_leads_back_to_the_same_token),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
