/* SPDX-License-Identifier: MIT */
/* conf.c - ludwigd.yaml, right and wrong */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/io.h"
#include "server/base/conf.h"

static int read_text(const char *text, struct conf *c, struct err *e)
{
    char path[] = "/tmp/ludwig-unit-XXXXXX";
    int fd = mkstemp(path);
    int rc;

    assert_true(fd >= 0);
    assert_int_equal(io_write_all(fd, text, strlen(text)), 0);
    close(fd);
    rc = conf_read(path, c, e);
    unlink(path);
    return rc;
}

static const char whole[] = "share: /srv/data\n"
                            "projects: research/lab/\n"
                            "share_group: lab\n"
                            "state: /var/lib/ludwig\n"
                            "sockets: [/run/a.sock, /srv/sftp/%u/ludwig/server.sock]\n"
                            "socket_group: lab\n"
                            "admins: [root, alice]\n"
                            "worker_users: ludwig\n"
                            "groups: {half1: [hoff, norman], one: solo}\n"
                            "lease: 90s\n"
                            "min_uid: 500\n"
                            "limits: {gpus_per_user: 1.5, cpus_per_user: 8, jobs_per_user: 100,"
                            " queued_jobs: 7, sweeps: 0}\n";

static const char *str_at(const struct list *list, size_t i)
{
    assert_true(i < list->n);
    return ((const char *const *)list->items)[i];
}

static void every_key_goes_where_it_belongs(void **state)
{
    const struct node_group *groups;
    struct err e = { 0 };
    struct conf c;

    (void)state;
    if (read_text(whole, &c, &e) < 0)
        fail_msg("%s", e.text);
    assert_string_equal(c.share, "/srv/data");
    assert_string_equal(c.state, "/var/lib/ludwig");
    assert_string_equal(c.projects, "research/lab");
    assert_string_equal(c.share_group, "lab");
    assert_int_equal(c.sockets.n, 2);
    assert_string_equal(str_at(&c.sockets, 1), "/srv/sftp/%u/ludwig/server.sock");
    assert_false(c.has_usual_sockets);
    assert_string_equal(c.socket_group, "lab");
    assert_string_equal(str_at(&c.admins, 1), "alice");
    assert_int_equal(c.worker_users.n, 1);
    assert_string_equal(str_at(&c.worker_users, 0), "ludwig");
    groups = c.groups.items;
    assert_int_equal(c.groups.n, 2);
    assert_string_equal(groups[0].name, "half1");
    assert_string_equal(str_at(&groups[0].nodes, 1), "norman");
    assert_string_equal(str_at(&groups[1].nodes, 0), "solo");
    assert_int_equal(c.lease_ms, 90000);
    assert_int_equal(c.min_uid, 500);
    assert_int_equal(c.gpus_per_user_milli, 1500);
    assert_int_equal(c.cpus_per_user_milli, 8000);
    assert_int_equal(c.jobs_per_user, 100);
    assert_int_equal(c.queued_jobs, 7);
    assert_int_equal(c.sweeps, 0);
    assert_int_equal(c.open_submits, 64);
    assert_int_equal(c.user_projects, 1000);
    conf_free(&c);
}

static void two_keys_are_enough(void **state)
{
    struct err e = { 0 };
    struct conf c;

    (void)state;
    setenv("HOME", "/home/alice", 1);
    if (read_text("share: ~/ludwig_data\nstate: /x\n", &c, &e) < 0)
        fail_msg("%s", e.text);
    assert_string_equal(c.share, "/home/alice/ludwig_data");
    assert_int_equal(c.sockets.n, 1);
    assert_true(c.has_usual_sockets);
    assert_string_equal(str_at(&c.sockets, 0), "/home/alice/ludwig_data/.ludwig/server.sock");
    assert_null(c.socket_group);
    assert_int_equal(c.lease_ms, 600000);
    assert_int_equal(c.min_uid, 1000);
    assert_int_equal(c.gpus_per_user_milli, 0);
    conf_free(&c);
}

static const struct {
    const char *text;
    const char *says;
} wrong[] = {
    { "state: /x\n", "share: this key is needed" },
    { "share: /x\n", "state: this key is needed" },
    { "", "share: this key is needed" },
    { "share: data\nstate: /x\n", "'data' is no absolute path" },
    { "share: /x\nstate: /y\nsockets: /srv/%u\n", "%u stands for a user's folder" },
    { "share: /x\nstate: /y\nsockets: /srv/x%u/s\n", "%u stands for a user's folder" },
    { "share: /x\nstate: /y\nsockets: /%u/s.sock\n", "%u stands for a user's folder" },
    { "share: /x\nstate: /y\nsockets: /srv/%h/s.sock\n", "%u stands for a user's folder" },
    { "share: /x\nstate: /y\nsockets: /a/%u/%u/s.sock\n", "%u stands for a user's folder" },
    { "share: /x\nstate: /y\nsockets: /a/%u/../s.sock\n", "%u stands for a user's folder" },
    { "share: /x\nstate: /y\nsockets: here.sock\n", "'here.sock' is no absolute path" },
    { "share: /x\nstate: /y\nprojects: /x/lab\n", "'/x/lab' is no folder below share" },
    { "share: /x\nstate: /y\nprojects: ../lab\n", "'../lab' is no folder below share" },
    { "share: /x\nstate: /y\nprojects: a//b\n", "'a//b' is no folder below share" },
    { "share: /x\nstate: /y\nprojects: .ludwig\n", "'.ludwig' is no folder below share" },
    { "share: /x\nstate: /y\nprojects: /\n", "'/' is no folder below share" },
    { "share: /x\nstate: /y\nshrae: /z\n", ":3:1: unknown key 'shrae' (did you mean 'share'?)" },
    { "share: /x\nstate: /y\nlease: soon\n", ":3:8: lease" },
    { "share: /x\nstate: /y\nlease: 0s\n", "lease" },
    { "share: /x\nstate: /y\nlimits: {gpus: 1}\n", "unknown key 'gpus'" },
    { "share: /x\nstate: /y\ngroups: [a]\n", "groups: expected lines such as" },
    { "share: /x\nstate: /y\ngroups: {half1: {a: 1}}\n", "half1" },
    { "share: /x\nstate: /y\nmin_uid: -1\n", "min_uid" },
    { "share: [/x\n", ":" },
};

static void what_is_wrong_is_named_with_its_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct err e = { 0 };
        struct conf c;

        if (read_text(wrong[i].text, &c, &e) == 0)
            fail_msg("taken: %s", wrong[i].text);
        if (e.kind != ERR_USAGE || strstr(e.text, wrong[i].says) == NULL)
            fail_msg("%s\nsays: %s", wrong[i].text, e.text);
    }
}

static void a_file_that_is_not_there_is_named(void **state)
{
    struct err e = { 0 };
    struct conf c;

    (void)state;
    assert_int_equal(conf_read("/nonexistent/ludwigd.yaml", &c, &e), -1);
    assert_int_equal(e.kind, ERR_NOT_FOUND);
    assert_non_null(strstr(e.text, "/nonexistent/ludwigd.yaml"));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_goes_where_it_belongs),
        cmocka_unit_test(two_keys_are_enough),
        cmocka_unit_test(what_is_wrong_is_named_with_its_place),
        cmocka_unit_test(a_file_that_is_not_there_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
