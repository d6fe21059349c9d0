/* SPDX-License-Identifier: MIT */
/* param_digest.c - when two configurations are the same one */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "common/data/json.h"
#include "common/data/param_digest.h"

static void digest_json(const char *json, struct digest *d)
{
    struct arena *a = arena_create();
    struct value v;

    assert_int_equal(json_read(json, strlen(json), a, &v, NULL), 0);
    param_digest(&v, d);
    arena_destroy(a);
}

static void the_canonical_form_is_fixed(void **state)
{
    static const struct {
        const char *json, *canonical;
    } cases[] = {
        { "{\"b\": 1, \"a\": 2}", "{\"a\":2,\"b\":1}" },
        { "{\"b\": {\"z\": 1, \"y\": [3, {\"d\":1,\"c\":2}]}}",
          "{\"b\":{\"y\":[3,{\"c\":2,\"d\":1}],\"z\":1}}" },
        { "[1.0, -0.0, 0.0, -3.0, 0.1]", "[1,0,0,-3,0.1]" },
        { "[1e15, 9007199254740991.0, -9007199254740991.0]",
          "[1000000000000000,9007199254740991,-9007199254740991]" },
        { "[9007199254740992.0, 1e300]", "[9007199254740992.0,1e+300]" },
        { "[NaN, Infinity, -Infinity]", "[NaN,Infinity,-Infinity]" },
        { "{\"aa\":1,\"a\":2,\"B\":3,\"\":4}", "{\"\":4,\"B\":3,\"a\":2,\"aa\":1}" },
        { "[true, null, \"1.0\"]", "[true,null,\"1.0\"]" },
        { "{}", "{}" },
    };
    struct arena *a = arena_create();
    struct buf b = { 0 };
    struct value v;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        buf_clear(&b);
        assert_int_equal(json_read(cases[i].json, strlen(cases[i].json), a, &v, NULL), 0);
        param_digest_add(&b, &v);
        assert_string_equal(buf_text(&b), cases[i].canonical);
    }
    buf_free(&b);
    arena_destroy(a);
}

static void a_digest_never_changes(void **state)
{
    struct digest d;
    char hex[DIGEST_HEX];

    (void)state;
    digest_json("{\"lr\": 0.1, \"hidden\": 64.0}", &d);
    digest_hex(&d, hex);
    /* printf 'ludwig param2val 1\n{"hidden":64,"lr":0.1}' | sha256sum */
    assert_string_equal(hex, "53919e309cf1e547ab1fed79178a2256edfac723f0d0d8a6bd4224f5eb12c33a");
}

static void order_and_kind_of_number_do_not_matter_all_else_does(void **state)
{
    static const struct {
        const char *x, *y;
        bool same;
    } cases[] = {
        { "{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}", true },
        { "{\"a\":1}", "{\"a\":1.0}", true },
        { "{\"a\":0.0}", "{\"a\":-0.0}", true },
        { "{\"a\":0.1}", "{\"a\":1e-1}", true },
        { "{\"a\":1}", "{\"a\":\"1\"}", false },
        { "{\"a\":1}", "{\"a\":true}", false },
        { "{\"a\":[1,2]}", "{\"a\":[2,1]}", false },
        { "{\"a\":1}", "{\"a\":1,\"b\":null}", false },
        { "{\"a\":0.1}", "{\"a\":0.10000000000000002}", false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct digest x, y;

        digest_json(cases[i].x, &x);
        digest_json(cases[i].y, &y);
        assert_int_equal(memcmp(&x, &y, sizeof x) == 0, cases[i].same);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_canonical_form_is_fixed),
        cmocka_unit_test(a_digest_never_changes),
        cmocka_unit_test(order_and_kind_of_number_do_not_matter_all_else_does),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
