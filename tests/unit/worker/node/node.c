/* SPDX-License-Identifier: MIT */
/* node.c - tests of worker/node/node.c */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/io.h"
#include "common/base/mem.h"
#include "common/base/path.h"
#include "worker/node/node.h"

struct file {
    const char *path;
    const char *text;
};

static void write_files(const char *root, const struct file *files, size_t n)
{
    for (size_t i = 0; i < n && files[i].path != NULL; i++) {
        char *path = path_join(root, files[i].path);
        char *folder = path_dirname(path);

        assert_int_equal(io_make_dirs(folder, 0700, NULL), 0);
        assert_int_equal(io_replace_file(path, files[i].text, strlen(files[i].text), 0600, NULL),
                         0);
        free(folder);
        free(path);
    }
}

static void the_lowest_limit_on_the_way_up_counts(void **state)
{
    enum { FILES = 4 };
    static const struct {
        const char *groups; /* /proc/self/cgroup */
        struct file files[FILES];
        int64_t cpus_milli, memory;
    } cases[] = {
        { "0::/\n", { { NULL, NULL } }, INT64_MAX, INT64_MAX },
        { "0::/a/b\n",
          { { "a/b/cpu.max", "max 100000\n" }, { "a/b/memory.max", "max\n" } },
          INT64_MAX,
          INT64_MAX },
        { "0::/a/b\n",
          { { "a/b/cpu.max", "150000 100000\n" }, { "a/b/memory.max", "1073741824\n" } },
          1500,
          1 << 30 },
        { "0::/a/b\n",
          { { "a/b/cpu.max", "400000 100000\n" },
            { "a/cpu.max", "200000 100000\n" },
            { "a/memory.max", "5000000\n" },
            { "a/b/memory.max", "9000000\n" } },
          2000,
          5000000 },
        /* a container sees its own group at the mount, whatever the path says */
        { "0::/not/to/be/seen\n",
          { { "cpu.max", "50000 100000\n" }, { "memory.max", "4096\n" } },
          500,
          4096 },
        { "4:memory:/job\n3:cpu,cpuacct:/job\n1:name=systemd:/\n0::/\n",
          { { "cpu,cpuacct/job/cpu.cfs_quota_us", "250000\n" },
            { "cpu,cpuacct/job/cpu.cfs_period_us", "100000\n" },
            { "memory/job/memory.limit_in_bytes", "123456789\n" } },
          2500,
          123456789 },
        { "2:cpu:/\n5:memory:/x\n",
          { { "cpu/cpu.cfs_quota_us", "-1\n" },
            { "cpu/cpu.cfs_period_us", "100000\n" },
            { "memory/memory.limit_in_bytes", "777\n" } },
          INT64_MAX,
          777 },
        /* cpuset and cpuacct are other controllers */
        { "2:cpuset,cpuacct:/\n",
          { { "cpuset,cpuacct/cpu.cfs_quota_us", "1000\n" },
            { "cpuset,cpuacct/cpu.cfs_period_us", "100000\n" } },
          INT64_MAX,
          INT64_MAX },
        { "nonsense\n\n7:\n", { { NULL, NULL } }, INT64_MAX, INT64_MAX },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char root[] = "/tmp/ludwig-cgroup-XXXXXX";
        struct node_limits limits;

        assert_non_null(mkdtemp(root));
        write_files(root, cases[i].files, FILES);
        node_read_limits(cases[i].groups, root, &limits);
        assert_int_equal(limits.cpus_milli, cases[i].cpus_milli);
        assert_int_equal(limits.memory_bytes, cases[i].memory);
        io_remove_tree(root, NULL);
    }
}

static void memory_is_read_from_meminfo(void **state)
{
    static const struct {
        const char *text;
        int64_t bytes;
    } cases[] = {
        { "MemTotal:       16384 kB\nMemFree:  1 kB\n", 16384 * 1024 },
        { "Something: 1 kB\nMemTotal: 1 kB\n", 1024 },
        { "", 0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(node_parse_meminfo(cases[i].text), cases[i].bytes);
}

static void this_machine_has_processors_memory_and_a_boot_id(void **state)
{
    struct node n;
    struct err e = { 0 };

    (void)state;
    assert_int_equal(node_look(&n, &e), 0);
    assert_true(n.n_cpus > 0);
    assert_true(n.cpus_milli > 0 && n.cpus_milli <= (int64_t)n.n_cpus * 1000);
    assert_true(n.memory_bytes > 0);
    assert_int_equal(strlen(n.boot_id), 36);
    node_free(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_lowest_limit_on_the_way_up_counts),
        cmocka_unit_test(memory_is_read_from_meminfo),
        cmocka_unit_test(this_machine_has_processors_memory_and_a_boot_id),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
