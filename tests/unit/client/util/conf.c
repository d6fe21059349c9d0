/* SPDX-License-Identifier: MIT */
/* conf.c - tests of which server is talked to, and where one's own listens */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/session/address.h"
#include "client/util/conf.h"
#include "common/base/io.h"
#include "common/base/path.h"

static void the_option_goes_before_the_environment_before_the_file(void **state)
{
    static const struct {
        const char *option, *variable, *file;
        const char *path; /* NULL: embedded */
    } cases[] = {
        { "unix:/o", "unix:/v", "unix:/f", "/o" },
        { NULL, "unix:/v", "unix:/f", "/v" },
        { NULL, "", "unix:/f", "/f" },
        { NULL, NULL, "unix:/f", "/f" },
        { NULL, NULL, NULL, NULL },
    };
    struct arena *a = arena_create();

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct conf c = { .server = cases[i].file };
        struct server_choice choice;

        unsetenv("LUDWIG_SERVER");
        if (cases[i].variable != NULL)
            setenv("LUDWIG_SERVER", cases[i].variable, 1);
        assert_int_equal(server_choice_make(&choice, cases[i].option, &c, a, NULL), 0);
        assert_int_equal(choice.embedded, cases[i].path == NULL);
        if (cases[i].path != NULL)
            assert_string_equal(choice.endpoint.path, cases[i].path);
    }
    unsetenv("LUDWIG_SERVER");
    arena_destroy(a);
}

static void a_wrong_address_says_what_is_right(void **state)
{
    static const struct {
        const char *address;
        const char *error;
    } cases[] = {
        { "ssh://", "--server: 'ssh://' names no host" },
        { "share:/srv",
          "--server: 'share:/srv': only pilots work by files on the share (write " ENDPOINT_FORMS
          ")" },
        { "/run/x.sock",
          "--server: '/run/x.sock' is no address of a server (write " ENDPOINT_FORMS ")" },
    };
    struct arena *a = arena_create();
    struct conf c = { 0 };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct server_choice choice;
        struct err e = { 0 };

        assert_int_equal(server_choice_make(&choice, cases[i].address, &c, a, &e), -1);
        assert_int_equal(e.kind, ERR_USAGE);
        assert_string_equal(e.text, cases[i].error);
    }
    arena_destroy(a);
}

static void the_configuration_is_read_and_checked(void **state)
{
    static const struct {
        const char *text;
        const char *error; /* behind "FILE:" */
    } cases[] = {
        { "server: unix:/x\nshare: /s\nuser: alice\nscratch: /tmp/{user}\n"
          "resources: {cpus: 2}\n",
          NULL },
        { "", NULL },
        { "share: data\n", "1:8: share: expected a path that begins with / or ~, found 'data'" },
        { "sever: x\n", "1:1: unknown key 'sever' (did you mean 'server'?)" },
        { "resources: 3\n", "1:12: resources: expected a map, found a whole number" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char path[] = "/tmp/ludwig-conf-XXXXXX";
        struct arena *a = arena_create();
        struct conf c = { 0 };
        struct err e = { 0 };
        int fd = mkstemp(path), result;

        assert_true(fd >= 0);
        assert_int_equal(io_write_all(fd, cases[i].text, strlen(cases[i].text)), 0);
        close(fd);
        result = conf_read_file(path, &c, a, &e);
        unlink(path);
        assert_int_equal(result, cases[i].error == NULL ? 0 : -1);
        if (cases[i].error != NULL)
            assert_string_equal(e.text + strlen(path) + 1, cases[i].error);
        arena_destroy(a);
    }
}

static void a_missing_configuration_changes_nothing(void **state)
{
    struct arena *a = arena_create();
    struct conf c = { .share = "/s" };

    (void)state;
    assert_int_equal(conf_read_file("/nonexistent/config.yaml", &c, a, NULL), 0);
    assert_string_equal(c.share, "/s");
    arena_destroy(a);
}

static char *make_dir(void)
{
    char dir[] = "/tmp/ludwig-state-XXXXXX";

    assert_non_null(mkdtemp(dir));
    return mem_strdup(dir);
}

static void drop_dir(char *dir)
{
    assert_int_equal(io_remove_tree(dir, NULL), 0);
    free(dir);
}

static void an_address_is_read_back_and_leads_to_its_host(void **state)
{
    char *dir = make_dir(), *file = path_join(dir, "address");
    struct arena *a = arena_create();
    struct endpoint to;
    struct err e = { 0 };

    (void)state;
    assert_int_equal(address_read(dir, &to, a, &e), -1);
    assert_int_equal(e.kind, ERR_NOT_FOUND);
    assert_int_equal(address_write(dir, "/run/x/server.sock", &e), 0);
    assert_int_equal(address_read(dir, &to, a, &e), 0);
    assert_int_equal(to.kind, ENDPOINT_UNIX);
    assert_string_equal(to.path, "/run/x/server.sock");
    assert_int_equal(io_replace_file(file, "unix:/x\nelsewhere.example\n", 26, 0600, &e), 0);
    assert_int_equal(address_read(dir, &to, a, &e), 0);
    assert_int_equal(to.kind, ENDPOINT_SSH);
    assert_string_equal(to.host, "elsewhere.example");
    assert_string_equal(to.path, "/x");
    assert_int_equal(io_replace_file(file, "nonsense", 8, 0600, &e), 0);
    assert_int_equal(address_read(dir, &to, a, &e), -1);
    assert_int_equal(e.kind, ERR_FAILED);
    arena_destroy(a);
    free(file);
    drop_dir(dir);
}

static void a_socket_lies_in_the_state_folder_if_its_path_is_short(void **state)
{
    char *dir = make_dir(), *path = address_choose_socket(dir, NULL), *expected;

    (void)state;
    expected = path_join(dir, "server.sock");
    assert_string_equal(path, expected);
    free(expected);
    free(path);
    drop_dir(dir);
}

static void a_long_path_moves_the_socket_to_the_runtime_folder(void **state)
{
    char *dir = make_dir(), *runtime = make_dir(), *deep, *path, *other;

    (void)state;
    deep = mem_printf("%s/%0100d", dir, 0);
    assert_int_equal(mkdir(deep, 0700), 0);
    setenv("XDG_RUNTIME_DIR", runtime, 1);
    path = address_choose_socket(deep, NULL);
    assert_memory_equal(path, runtime, strlen(runtime));
    assert_in_range(strlen(path), 1, 99);
    deep[strlen(deep) - 1] = '1'; /* another state folder gets another socket */
    assert_int_equal(mkdir(deep, 0700), 0);
    other = address_choose_socket(deep, NULL);
    assert_string_not_equal(path, other);
    unsetenv("XDG_RUNTIME_DIR");
    free(other);
    free(path);
    free(deep);
    drop_dir(runtime);
    drop_dir(dir);
}

static void a_folder_that_others_may_write_gets_no_socket(void **state)
{
    char *dir = make_dir(), *path, *inside;

    (void)state;
    assert_int_equal(chmod(dir, 0777), 0);
    path = address_choose_socket(dir, NULL);
    inside = path_join(dir, "server.sock");
    assert_string_not_equal(path, inside);
    free(inside);
    free(path);
    drop_dir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_option_goes_before_the_environment_before_the_file),
        cmocka_unit_test(a_wrong_address_says_what_is_right),
        cmocka_unit_test(the_configuration_is_read_and_checked),
        cmocka_unit_test(a_missing_configuration_changes_nothing),
        cmocka_unit_test(an_address_is_read_back_and_leads_to_its_host),
        cmocka_unit_test(a_socket_lies_in_the_state_folder_if_its_path_is_short),
        cmocka_unit_test(a_long_path_moves_the_socket_to_the_runtime_folder),
        cmocka_unit_test(a_folder_that_others_may_write_gets_no_socket),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
