/* SPDX-License-Identifier: MIT */
/* file_request.c - requests and replies: their content, their names; the share's id */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "common/connect/file_request.h"
#include "common/proto/shareid.h"

static const struct token a_conn = { "0123456789abcde" };
static const char conn_hex[] = "30313233343536373839616263646500";

static struct file_request a_request(void)
{
    return (struct file_request){ .v = FILE_REQUEST_VERSION,
                                  .server = "0011223344556677",
                                  .incarnation = { "an incarnation" },
                                  .conn = a_conn,
                                  .no = 7,
                                  .data = { (const uint8_t *)"bytes", 5 },
                                  .is_end = true };
}

static struct file_reply a_reply(void)
{
    return (struct file_reply){ .v = FILE_REQUEST_VERSION,
                                .server = "0011223344556677",
                                .conn = a_conn,
                                .no = 7,
                                .data = { (const uint8_t *)"bytes", 5 },
                                .is_end = true,
                                .why = "it was silent" };
}

static void a_request_reads_as_it_was_written(void **state)
{
    struct arena *a = arena_create();
    struct file_request sent = a_request(), got;
    struct buf file = { 0 };
    struct err e = { 0 };

    (void)state;
    file_request_encode(&sent, &file);
    if (file_request_decode(&got, buf_bytes(&file), a, &e) < 0)
        fail_msg("%s", e.text);
    assert_string_equal(got.server, sent.server);
    assert_true(token_equal(&got.incarnation, &sent.incarnation));
    assert_true(token_equal(&got.conn, &sent.conn));
    assert_int_equal(got.no, 7);
    assert_int_equal(got.data.n, 5);
    assert_memory_equal(got.data.data, "bytes", 5);
    assert_true(got.is_end);
    buf_free(&file);
    arena_destroy(a);
}

static void a_reply_reads_as_it_was_written(void **state)
{
    struct arena *a = arena_create();
    struct file_reply sent = a_reply(), got;
    struct buf file = { 0 };
    struct err e = { 0 };

    (void)state;
    file_request_encode_reply(&sent, &file);
    if (file_request_decode_reply(&got, buf_bytes(&file), a, &e) < 0)
        fail_msg("%s", e.text);
    assert_string_equal(got.server, sent.server);
    assert_true(token_equal(&got.conn, &sent.conn));
    assert_int_equal(got.no, 7);
    assert_int_equal(got.data.n, 5);
    assert_true(got.is_end);
    assert_string_equal(got.why, "it was silent");
    sent.why = NULL;
    sent.is_end = false;
    buf_clear(&file);
    file_request_encode_reply(&sent, &file);
    assert_int_equal(file_request_decode_reply(&got, buf_bytes(&file), a, &e), 0);
    assert_null(got.why);
    assert_false(got.is_end);
    buf_free(&file);
    arena_destroy(a);
}

static void the_largest_request_fits_into_its_file_and_a_larger_one_is_refused(void **state)
{
    struct arena *a = arena_create();
    struct file_request r = a_request(), got;
    struct file_reply reply = a_reply();
    struct buf file = { 0 };
    uint8_t *data = mem_alloc(FILE_REQUEST_DATA_MAX + 1);
    char *why = mem_alloc(ERR_TEXT_BYTES);
    struct err e = { 0 };

    (void)state;
    memset(why, 'x', ERR_TEXT_BYTES - 1);
    r.no = reply.no = INT64_MAX - 1;
    r.data = reply.data = (struct bytes){ data, FILE_REQUEST_DATA_MAX };
    reply.why = why;
    file_request_encode_reply(&reply, &file);
    assert_true(file.n <= FILE_REQUEST_MAX_BYTES);
    assert_int_equal(file_request_decode_reply(&reply, buf_bytes(&file), a, &e), 0);
    buf_clear(&file);
    file_request_encode(&r, &file);
    assert_true(file.n <= FILE_REQUEST_MAX_BYTES);
    assert_int_equal(file_request_decode(&got, buf_bytes(&file), a, &e), 0);
    buf_clear(&file);
    r.data.n++;
    file_request_encode(&r, &file);
    assert_int_equal(file_request_decode(&got, buf_bytes(&file), a, &e), -1);
    assert_int_equal(e.kind, ERR_PROTOCOL);
    free(why);
    free(data);
    buf_free(&file);
    arena_destroy(a);
}

static void a_request_that_was_cut_anywhere_is_refused(void **state)
{
    struct arena *a = arena_create();
    struct file_request r = a_request(), got;
    struct buf file = { 0 };

    (void)state;
    file_request_encode(&r, &file);
    for (size_t n = 0; n < file.n; n++)
        assert_int_equal(file_request_decode(&got, (struct bytes){ file.bytes, n }, a, NULL), -1);
    buf_add_char(&file, 'x');
    assert_int_equal(file_request_decode(&got, buf_bytes(&file), a, NULL), -1);
    buf_free(&file);
    arena_destroy(a);
}

static void another_version_is_refused(void **state)
{
    struct arena *a = arena_create();
    struct file_request r = a_request(), got;
    struct buf file = { 0 };
    struct err e = { 0 };

    (void)state;
    r.v = FILE_REQUEST_VERSION + 1;
    file_request_encode(&r, &file);
    assert_int_equal(file_request_decode(&got, buf_bytes(&file), a, &e), -1);
    assert_non_null(strstr(e.text, "version"));
    buf_free(&file);
    arena_destroy(a);
}

/* ---- names ---- */

static void names_say_connection_and_number(void **state)
{
    char name[FILE_REQUEST_NAME_BYTES];

    (void)state;
    file_request_name(name, &a_conn, 12);
    assert_string_equal(name, "30313233343536373839616263646500.12");
    file_request_reply_name(name, 1001, &a_conn, 0);
    assert_string_equal(name, "1001.30313233343536373839616263646500.0");
    file_request_reply_name(name, UINT32_MAX, &a_conn, INT64_MAX);
    assert_int_equal(strlen(name), 10 + 1 + 32 + 1 + 19);
}

static const struct {
    const char *name; /* "@": the hex digits of a_conn */
    int64_t seq;      /* -1: refused */
    bool is_temporary;
    const char *what;
} names[] = {
    { "@.0", 0, false, "the first" },
    { "@.123456789012345678", INT64_C(123456789012345678), false, "a large number" },
    { ".@.5", 5, true, "one that is being written" },
    { "@.05", -1, false, "a second spelling of a number" },
    { "@.", -1, false, "no number" },
    { "@", -1, false, "the connection alone" },
    { "@.-1", -1, false, "a negative number" },
    { "@.1x", -1, false, "something behind the number" },
    { "@.1234567890123456789", -1, false, "a number that is too large" },
    { "@.0.0", -1, false, "two numbers" },
    { "0@.0", -1, false, "too many digits" },
    { "..@.5", -1, false, "two dots" },
    { "3031323334353637383961626364650.0", -1, false, "too few digits" },
    { "3031323334353637383961626364650X.0", -1, false, "no hex digit" },
    { "", -1, false, "nothing" },
    { ".", -1, false, "a dot" },
};

static void only_one_spelling_of_a_name_is_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *at = strchr(names[i].name, '@');
        char *name = at == NULL ? mem_strdup(names[i].name)
                                : mem_printf("%.*s%s%s", (int)(at - names[i].name), names[i].name,
                                             conn_hex, at + 1);
        struct token conn;
        int64_t seq = -1;
        bool is_temporary = false;
        int rc = file_request_parse_name(name, &conn, &seq, &is_temporary);

        if (rc != (names[i].seq < 0 ? -1 : 0) ||
            (rc == 0 && (seq != names[i].seq || is_temporary != names[i].is_temporary ||
                         !token_equal(&conn, &a_conn))))
            fail_msg("%s: %s", names[i].name, names[i].what);
        free(name);
    }
}

static void temporary_names_are_read_only_where_they_are_asked_for(void **state)
{
    char *name = mem_printf(".%s.5", conn_hex);
    struct token conn;
    int64_t seq;

    (void)state;
    assert_int_equal(file_request_parse_name(name, &conn, &seq, NULL), -1);
    assert_int_equal(file_request_parse_name(name + 1, &conn, &seq, NULL), 0);
    free(name);
}

/* ---- the share's id ---- */

static void the_shares_id_reads_as_it_was_written(void **state)
{
    struct arena *a = arena_create();
    struct shareid id = { .v = 1,
                          .server = "0011223344556677",
                          .host = "fileserver",
                          .incarnation = conn_hex,
                          .inbox = INBOX_LISTED },
                   got;
    struct buf file = { 0 };
    struct err e = { 0 };

    (void)state;
    shareid_encode(&id, &file);
    assert_int_equal(file.bytes[file.n - 1], '\n');
    if (shareid_decode(&got, buf_bytes(&file), a, &e) < 0)
        fail_msg("%s", e.text);
    assert_string_equal(got.server, id.server);
    assert_string_equal(got.host, "fileserver");
    assert_string_equal(got.incarnation, conn_hex);
    assert_int_equal(got.inbox, INBOX_LISTED);
    assert_null(got.why);
    buf_free(&file);
    arena_destroy(a);
}

static void an_id_of_before_there_was_an_inbox_has_none(void **state)
{
    static const char text[] = "{\"v\":1,\"server\":\"0011223344556677\",\"host\":\"h\"}\n";
    struct arena *a = arena_create();
    struct shareid got;

    (void)state;
    assert_int_equal(
        shareid_decode(&got, (struct bytes){ (const uint8_t *)text, strlen(text) }, a, NULL), 0);
    assert_null(got.incarnation);
    assert_int_equal(got.inbox, INBOX_NONE);
    arena_destroy(a);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_reads_as_it_was_written),
        cmocka_unit_test(a_reply_reads_as_it_was_written),
        cmocka_unit_test(the_largest_request_fits_into_its_file_and_a_larger_one_is_refused),
        cmocka_unit_test(a_request_that_was_cut_anywhere_is_refused),
        cmocka_unit_test(another_version_is_refused),
        cmocka_unit_test(names_say_connection_and_number),
        cmocka_unit_test(only_one_spelling_of_a_name_is_read),
        cmocka_unit_test(temporary_names_are_read_only_where_they_are_asked_for),
        cmocka_unit_test(the_shares_id_reads_as_it_was_written),
        cmocka_unit_test(an_id_of_before_there_was_an_inbox_has_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
