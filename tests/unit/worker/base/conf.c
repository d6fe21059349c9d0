/* SPDX-License-Identifier: MIT */
/* conf.c - tests of worker/base/conf.c and worker/base/folders.c */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/io.h"
#include "worker/base/conf.h"
#include "worker/base/folders.h"

static int parse(const char *text, struct conf *c, struct err *e)
{
    return conf_parse("worker.yaml", text, strlen(text), NULL, c, e);
}

static void every_key_is_read(void **state)
{
    static const char text[] = "server: unix:/run/ludwig/server.sock\n"
                               "server_user: '#1234'\n"
                               "share: /media/research\n"
                               "scratch: /processing/{user}\n"
                               "cache_size: 200GiB\n"
                               "name: hawkins\n"
                               "kind: slurm\n"
                               "state: /var/lib/ludwig-worker\n"
                               "no_new_privs: no\n"
                               "private_tmp: yes\n"
                               "rlimits: {core: 1MiB, open_files: 500, processes: 4000}\n"
                               "resources: {cpus: 7.5, gpus: 2, memory: 16GiB}\n";
    struct conf c;
    struct err e = { 0 };

    (void)state;
    assert_int_equal(parse(text, &c, &e), 0);
    assert_string_equal(c.server.path, "/run/ludwig/server.sock");
    assert_int_equal(c.servers[0].server_uid, 1234);
    assert_string_equal(c.share, "/media/research");
    assert_string_equal(c.scratch, "/processing/{user}");
    assert_int_equal(c.settings.cache_size_bytes, 200LL << 30);
    assert_string_equal(c.name, "hawkins");
    assert_string_equal(c.kind, "slurm");
    assert_string_equal(c.state, "/var/lib/ludwig-worker");
    assert_int_equal(c.confine.no_new_privs, 0);
    assert_int_equal(c.confine.private_tmp, 1);
    assert_int_equal(c.confine.core_bytes, 1 << 20);
    assert_int_equal(c.confine.open_files, 500);
    assert_int_equal(c.confine.processes, 4000);
    assert_int_equal(c.resources.cpus_milli, 7500);
    assert_int_equal(c.resources.gpus, 2);
    assert_int_equal(c.resources.memory_bytes, 16LL << 30);
    conf_free(&c);
}

static void jobs_of_several_users_are_confined_by_default(void **state)
{
    static const char *const bad[] = { "", "1:0:0:0", "1:0:0:0:0:0", "1:0:x:0:0", "1:0::0:0" };
    struct confine one = { -1, -1, -1, -1, -1 }, many = one, read, said = { 0, 1, 5, -1, 7 };
    struct err e = { 0 };
    char *text;

    (void)state;
    confine_fill(&one, false);
    text = confine_text(&one);
    assert_string_equal(text, "0:0:-1:-1:-1");
    free(text);
    confine_fill(&many, true);
    assert_int_equal(many.no_new_privs, 1);
    assert_int_equal(many.private_tmp, 1);
    assert_int_equal(many.core_bytes, 0);
    assert_int_equal(many.open_files, CONFINE_UNSET);
    assert_true(many.processes > 0);
    confine_fill(&said, true);
    text = confine_text(&said);
    assert_string_equal(text, "0:1:5:-1:7");
    assert_int_equal(confine_read(text, &read, &e), 0);
    assert_memory_equal(&read, &said, sizeof read);
    free(text);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(confine_read(bad[i], &read, &e), -1);
}

static void what_is_not_said_is_found_out(void **state)
{
    static const char *const texts[] = {
        "server: unix:/s\n",
        "server: unix:/s\nresources: {cpus: auto, gpus: auto, memory: auto}\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct conf c;

        assert_int_equal(parse(texts[i], &c, NULL), 0);
        assert_string_equal(c.kind, "node");
        assert_null(c.name);
        assert_null(c.share);
        assert_int_equal(c.resources.cpus_milli, CONF_AUTO);
        assert_int_equal(c.resources.gpus, CONF_AUTO);
        assert_int_equal(c.resources.memory_bytes, CONF_AUTO);
        conf_free(&c);
    }
}

static void mistakes_are_named_with_their_place(void **state)
{
    static const struct {
        const char *text;
        const char *words;
    } cases[] = {
        { "", "server is missing" },
        { "kind: node\n", "server is missing" },
        { "server: ssh://a:b\n", "worker.yaml:1:9: server: 'ssh://a:b': 'b' is no port" },
        { "server: /run/s\n", "server: '/run/s' is no address of a server" },
        { "server: unix:run/s\n", "server: 'unix:run/s': behind unix: an absolute path" },
        { "server: unix:/s\nkind: cloud\n",
          "worker.yaml:2:7: kind: expected local, node or slurm" },
        { "server: unix:/s\nname: a/b\n", "name: 'a/b' cannot be the name of a node" },
        { "server: unix:/s\nscratch: tmp\n", "scratch: expected an absolute path" },
        { "server: unix:/s\nshare: [a]\n", "share: expected an absolute path" },
        { "server: unix:/s\nscrach: /tmp\n", "scratch" },
        { "server: unix:/s\nresources: {cpus: 0}\n", "cpus: expected auto, or a number" },
        { "server: unix:/s\nresources: {cpus: many}\n", "cpus: expected auto, or a number" },
        { "server: unix:/s\nresources: {gpus: 0.5}\n", "gpus: expected auto, or a whole number" },
        { "server: unix:/s\nresources: {memory: -1}\n", "memory: expected auto, or a size" },
        { "server: unix:/s\nresources: 4\n", "resources" },
        { "- server\n", "expected a map" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct conf c;
        struct err e = { 0 };

        assert_int_equal(parse(cases[i].text, &c, &e), -1);
        assert_int_equal(e.kind, ERR_USAGE);
        if (strstr(e.text, cases[i].words) == NULL)
            fail_msg("'%s' does not say '%s'", e.text, cases[i].words);
    }
}

static void a_folder_of_ours_is_made_and_closed_to_others(void **state)
{
    char base[] = "/tmp/ludwig-folders-XXXXXX";
    char *folder, *link;
    struct stat st;
    struct err e = { 0 };

    (void)state;
    assert_non_null(mkdtemp(base));
    folder = mem_printf("%s/folder", base);
    link = mem_printf("%s/link", base);
    assert_int_equal(folders_own(folder, &e), 0);
    assert_int_equal(chmod(folder, 0755), 0);
    assert_int_equal(folders_own(folder, &e), 0);
    assert_int_equal(stat(folder, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    assert_int_equal(symlink(folder, link), 0);
    assert_int_equal(folders_own(link, &e), -1);
    if (geteuid() == 0) {
        assert_int_equal(chown(folder, 4711, 0), 0);
        assert_int_equal(folders_own(folder, &e), -1);
        assert_int_equal(e.kind, ERR_DENIED);
    }
    io_remove_tree(base, NULL);
    free(folder);
    free(link);
}

static void scratch_is_named_after_user_and_host(void **state)
{
    char base[] = "/tmp/ludwig-folders-XXXXXX";
    struct conf c = { .arena = NULL };
    struct folders f;
    struct err e = { 0 };
    char *start, *scratch, *runtime;

    (void)state;
    assert_non_null(mkdtemp(base));
    scratch = mem_printf("%s/{user}", base);
    runtime = mem_printf("%s/state/worker", base);
    c.scratch = scratch;
    c.state = runtime;
    assert_int_equal(folders_find(&c, "host9", NULL, false, &f, &e), 0);
    start = mem_printf("%s/", base);
    assert_int_equal(strncmp(f.scratch, start, strlen(start)), 0);
    assert_null(strstr(f.scratch, "{user}"));
    assert_non_null(strstr(f.scratch, "/ludwig-"));
    assert_string_equal(f.scratch + strlen(f.scratch) - strlen("-host9"), "-host9");
    assert_string_equal(f.runtime, runtime);
    folders_free(&f);
    io_remove_tree(base, NULL);
    free(start);
    free(scratch);
    free(runtime);
}

static void a_worker_of_a_slurm_job_has_folders_of_its_own(void **state)
{
    char base[] = "/tmp/ludwig-folders-XXXXXX";
    struct conf c = { .scratch = base, .state = NULL };
    struct folders one, other;
    struct err e = { 0 };
    char *state_folder;

    (void)state;
    assert_non_null(mkdtemp(base));
    c.state = state_folder = mem_printf("%s/state", base);
    assert_int_equal(folders_name(&c, "host9", "17_3", false, &one, &e), 0);
    assert_int_equal(access(one.scratch, F_OK), -1);
    assert_int_equal(access(one.runtime, F_OK), -1);
    folders_free(&one);
    assert_int_equal(folders_find(&c, "host9", "17_3", false, &one, &e), 0);
    assert_int_equal(folders_find(&c, "host9", "18", false, &other, &e), 0);
    assert_string_not_equal(one.scratch, other.scratch);
    assert_string_not_equal(one.runtime, other.runtime);
    folders_remove(&one);
    assert_int_equal(access(one.scratch, F_OK), -1);
    assert_int_equal(access(one.runtime, F_OK), -1);
    assert_int_equal(access(other.scratch, F_OK), 0);
    assert_int_equal(access(other.runtime, F_OK), 0);
    folders_free(&one);
    folders_free(&other);
    io_remove_tree(base, NULL);
    free(state_folder);
}

static void servers_are_tried_in_the_order_that_is_given(void **state)
{
    struct conf c;
    struct err e = { 0 };

    (void)state;
    assert_int_equal(conf_read(NULL, "unix:/a,b.sock,ssh://one,ssh://x@two:22", &c, &e), 0);
    assert_int_equal(c.n_servers, 3);
    assert_string_equal(c.servers[0].path, "/a,b.sock");
    assert_string_equal(c.servers[1].host, "one");
    assert_string_equal(c.servers[2].text, "ssh://x@two:22");
    assert_string_equal(c.server.text, c.servers[0].text);
    conf_free(&c);
    assert_int_equal(conf_read(NULL, "unix:/a,ssh://", &c, &e), -1);
    assert_int_equal(e.kind, ERR_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_is_read),
        cmocka_unit_test(what_is_not_said_is_found_out),
        cmocka_unit_test(jobs_of_several_users_are_confined_by_default),
        cmocka_unit_test(mistakes_are_named_with_their_place),
        cmocka_unit_test(a_folder_of_ours_is_made_and_closed_to_others),
        cmocka_unit_test(scratch_is_named_after_user_and_host),
        cmocka_unit_test(a_worker_of_a_slurm_job_has_folders_of_its_own),
        cmocka_unit_test(servers_are_tried_in_the_order_that_is_given),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
