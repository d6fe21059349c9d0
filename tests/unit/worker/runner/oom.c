/* SPDX-License-Identifier: MIT */
/* oom.c - tests of out of memory: the kernel's counters, limits, what an end means, watching */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/mem.h"
#include "tests/unit/skip.h"
#include "worker/runner/oom.h"

#define MIB (INT64_C(1024) * 1024)
#define GIB (1024 * MIB)

/* ---- a machine that is made up ---- */

struct machine {
    char path[32];
    int fd;
};

static void put(struct machine *m, const char *path, const char *text)
{
    char *folder = mem_strdup(path);
    struct err e = { 0 };

    *strrchr(folder, '/') = '\0';
    if (io_make_dirs_at(m->fd, folder, 0755, &e) < 0 ||
        io_write_file_at(m->fd, path, text, strlen(text), 0644, &e) < 0)
        fail_msg("%s", e.text);
    free(folder);
}

static void make_machine(struct machine *m)
{
    struct err e = { 0 };

    strcpy(m->path, "/tmp/ludwig.XXXXXX");
    assert_non_null(mkdtemp(m->path));
    m->fd = io_open_dir(m->path, &e);
    assert_true(m->fd >= 0);
    put(m, "proc/meminfo", "MemTotal:       16777216 kB\nMemFree: 1 kB\n");
}

static void remove_machine(struct machine *m)
{
    struct err e = { 0 };

    close(m->fd);
    assert_int_equal(io_remove_tree(m->path, &e), 0);
}

static const char v2_mounts[] =
    "22 1 8:1 / / rw shared:1 - ext4 /dev/sda1 rw\n"
    "30 22 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";

static void a_group_of_version_2_is_found_with_its_counter(void **state)
{
    struct machine m;
    struct oom o;

    (void)state;
    make_machine(&m);
    put(&m, "proc/self/cgroup", "0::/system.slice/ludwig.service\n");
    put(&m, "proc/self/mountinfo", v2_mounts);
    put(&m, "sys/fs/cgroup/system.slice/ludwig.service/memory.events",
        "low 0\nhigh 1\nmax 20\noom 5\noom_kill 3\noom_group_kill 7\n");
    oom_open(&o, m.path);
    assert_int_equal(oom_kills(&o), 3);
    put(&m, "sys/fs/cgroup/system.slice/ludwig.service/memory.events",
        "low 0\nhigh 1\nmax 20\noom 5\noom_kill 4\noom_group_kill 7\n");
    assert_int_equal(oom_kills(&o), 4);
    oom_close(&o);
    remove_machine(&m);
}

static void the_memory_of_version_1_comes_first(void **state)
{
    struct machine m;
    struct oom o;

    (void)state;
    make_machine(&m);
    put(&m, "proc/self/cgroup",
        "12:cpu,cpuacct:/x\n4:memory:/slurm/uid_1/job_7\n1:name=systemd:/\n0::/elsewhere\n");
    put(&m, "proc/self/mountinfo",
        "31 22 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
        "35 22 0:31 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
        "41 22 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
    put(&m, "sys/fs/cgroup/memory/slurm/uid_1/job_7/memory.oom_control",
        "oom_kill_disable 0\nunder_oom 0\noom_kill 9\n");
    put(&m, "sys/fs/cgroup/memory/slurm/uid_1/job_7/memory.limit_in_bytes",
        "9223372036854771712\n");
    put(&m, "sys/fs/cgroup/memory/slurm/uid_1/memory.limit_in_bytes", "4294967296\n");
    oom_open(&o, m.path);
    assert_int_equal(oom_kills(&o), 9);
    assert_true(oom_limit_bytes(&o) == 4 * GIB);
    oom_close(&o);
    remove_machine(&m);
}

static void a_group_without_a_counter_is_counted_by_the_one_above(void **state)
{
    struct machine m;
    struct oom o;

    (void)state;
    make_machine(&m);
    put(&m, "proc/self/cgroup", "0::/system.slice/w.service/ludwig-1\n");
    put(&m, "proc/self/mountinfo", "30 22 0:26 / /cg rw - cgroup2 cgroup2 rw\n");
    put(&m, "cg/system.slice/memory.events", "oom_kill 7\n");
    put(&m, "cg/system.slice/w.service/memory.events", "oom_kill 3\n");
    put(&m, "cg/system.slice/w.service/ludwig-1/cgroup.procs", "");
    oom_open(&o, m.path);
    assert_int_equal(oom_kills(&o), 3);
    oom_close(&o);
    remove_machine(&m);
}

static void in_a_container_the_mount_may_show_our_part_only(void **state)
{
    static const struct {
        const char *group, *mounted, *folder;
    } cases[] = {
        { "/docker/ab", "/docker/ab", "" },
        { "/docker/ab/jobs", "/docker/ab", "/jobs" },
        { "/", "/", "" },
        { "/docker/abc", "/docker/ab", NULL }, /* another one's */
        { "/docker", "/docker/ab", NULL },
    };
    struct machine m;
    struct oom o;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *group = mem_printf("0::%s\n", cases[i].group);
        char *mounts = mem_printf("30 22 0:26 %s /cg rw - cgroup2 cgroup2 rw\n", cases[i].mounted);
        char *file = mem_printf("cg%s/memory.events", cases[i].folder ? cases[i].folder : "");

        make_machine(&m);
        put(&m, "proc/self/cgroup", group);
        put(&m, "proc/self/mountinfo", mounts);
        put(&m, file, "oom_kill 2\n");
        oom_open(&o, m.path);
        assert_int_equal(oom_kills(&o), cases[i].folder != NULL ? 2 : -1);
        oom_close(&o);
        remove_machine(&m);
        free(group);
        free(mounts);
        free(file);
    }
}

static void the_least_limit_of_all_groups_above_holds(void **state)
{
    struct machine m;
    struct oom o;

    (void)state;
    make_machine(&m);
    put(&m, "proc/self/cgroup", "0::/a/b/c\n");
    put(&m, "proc/self/mountinfo", v2_mounts);
    put(&m, "sys/fs/cgroup/a/b/c/memory.max", "max\n");
    oom_open(&o, m.path);
    assert_true(oom_limit_bytes(&o) == 16 * GIB); /* the machine's */
    put(&m, "sys/fs/cgroup/a/b/memory.max", "3221225472\n");
    assert_true(oom_limit_bytes(&o) == 3 * GIB);
    put(&m, "sys/fs/cgroup/a/memory.max", "2147483648\n");
    assert_true(oom_limit_bytes(&o) == 2 * GIB);
    put(&m, "sys/fs/cgroup/a/b/c/memory.max", "1073741824\n");
    assert_true(oom_limit_bytes(&o) == GIB);
    /* Above the mount there is no group. */
    put(&m, "sys/fs/memory.max", "1\n");
    assert_true(oom_limit_bytes(&o) == GIB);
    oom_close(&o);
    remove_machine(&m);
}

static void what_is_not_known_does_no_harm(void **state)
{
    static const struct {
        const char *groups, *mounts;
    } cases[] = {
        { "", "" },
        { "0::/a\n", "" },
        { "", v2_mounts },
        { "0::/a\n", v2_mounts }, /* has no counter, as the topmost group */
        { "0:/a\nnonsense\n::\n", "1 2 3\n- - - - - -\n\n" },
        { "3:cpu:/a\n", v2_mounts },
    };
    struct machine m;
    struct oom o;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        make_machine(&m);
        put(&m, "proc/self/cgroup", cases[i].groups);
        put(&m, "proc/self/mountinfo", cases[i].mounts);
        oom_open(&o, m.path);
        assert_int_equal(oom_kills(&o), -1);
        assert_true(oom_limit_bytes(&o) == 16 * GIB);
        oom_close(&o);
        remove_machine(&m);
    }
    oom_open(&o, "/nowhere");
    assert_int_equal(oom_kills(&o), -1);
    assert_int_equal(oom_limit_bytes(&o), 0);
    oom_close(&o);
}

static void this_machine_has_a_limit(void **state)
{
    struct oom o;

    (void)state;
    oom_open(&o, "");
    assert_true(oom_limit_bytes(&o) > MIB);
    oom_close(&o);
}

/* ---- what an end means ---- */

static void only_a_kill_can_be_for_lack_of_memory(void **state)
{
    enum { KILLED = SIGKILL, CODE_137 = 137 << 8, CODE_1 = 1 << 8, SEGFAULT = SIGSEGV };
    static const struct {
        int status;
        bool has_kills, has_own_limit;
        int64_t used, said, limit;
        const char *reason; /* NULL: it was something else */
    } cases[] = {
        { KILLED, true, false, 3994 * MIB, 0, 4 * GIB,
          "out of memory: the kernel ended it (peak 3.9 GiB of 4 GiB)" },
        { CODE_137, true, false, 100 * MIB, 0, 4 * GIB,
          "out of memory: the kernel ended it (peak 100 MiB of 4 GiB)" },
        { KILLED, true, false, 0, 0, 0, "out of memory: the kernel ended it" },
        { KILLED, true, true, 295 * MIB, 300 * MIB, 16 * GIB,
          "out of memory: the kernel ended it (peak 295 MiB of 300 MiB)" },
        { CODE_137, true, true, 40 * MIB, 300 * MIB, 16 * GIB,
          "out of memory: the kernel ended it (its processes together reached 300 MiB)" },
        { CODE_1, true, false, 4 * GIB, 0, 4 * GIB, NULL },
        { SEGFAULT, true, false, 4 * GIB, 0, 4 * GIB, NULL },
        { 0, true, false, 4 * GIB, 0, 4 * GIB, NULL },
        { KILLED, false, false, 1946 * MIB, 2 * GIB, 16 * GIB,
          "killed by signal 9, likely out of memory: it used 1.9 GiB of 2 GiB" },
        { CODE_137, false, false, 1946 * MIB, 2 * GIB, 16 * GIB,
          "exit code 137 (killed by signal 9), likely out of memory: it used 1.9 GiB of 2 GiB" },
        { KILLED, false, false, 3 * GIB, 2 * GIB, 16 * GIB,
          "killed by signal 9, likely out of memory: it used 3 GiB of 2 GiB" },
        { KILLED, false, false, 15 * GIB, 0, 16 * GIB,
          "killed by signal 9, likely out of memory: it used 15 GiB of 16 GiB" },
        { KILLED, false, false, 15 * GIB, 64 * GIB, 16 * GIB, /* it said more than there is */
          "killed by signal 9, likely out of memory: it used 15 GiB of 16 GiB" },
        { KILLED, false, false, 18 * 100 * MIB, 2000 * MIB, 0,
          "killed by signal 9, likely out of memory: it used 1.8 GiB of 2 GiB" },
        { KILLED, false, false, 1799 * MIB, 2000 * MIB, 0, NULL },
        { KILLED, false, false, GIB, 2 * GIB, 16 * GIB, NULL },
        { KILLED, false, false, 15 * GIB, 0, 0, NULL },
        { CODE_1, false, false, 2 * GIB, 2 * GIB, 2 * GIB, NULL },
        { SEGFAULT, false, false, 2 * GIB, 2 * GIB, 2 * GIB, NULL },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct oom_evidence x = { cases[i].status, cases[i].has_kills, cases[i].has_own_limit,
                                  cases[i].used,   cases[i].said,      cases[i].limit };
        struct buf reason = { 0 };

        assert_int_equal(oom_judge(&x, &reason), cases[i].reason != NULL);
        assert_string_equal(buf_text(&reason), cases[i].reason != NULL ? cases[i].reason : "");
        buf_free(&reason);
    }
}

/* ---- watching ---- */

static void what_the_kernel_says_is_added_up(void **state)
{
    static const struct {
        const char *text;
        int64_t bytes;
    } cases[] = {
        { "Name:\tx\nVmRSS:\t 900 kB\nRssAnon:\t     140 kB\nRssFile:\t 9 kB\nRssShmem:\t  2 kB\n",
          142 * 1024 },
        { "RssAnon:\t140 kB\n", -1 }, /* an old kernel */
        { "Name:\tx\nState:\tZ (zombie)\n", -1 },
        { "", -1 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(memwatch_parse(cases[i].text, "RssAnon", "RssShmem"), cases[i].bytes);
}

static void who_is_near_its_limit_is_looked_at_more_often(void **state)
{
    static const struct {
        int64_t mib, before_mib;
        int pause_ms;
    } cases[] = {
        { 0, 0, 1000 },    { 500, 500, 1000 }, { 790, 780, 1000 }, { 810, 810, 100 },
        { 999, 999, 100 }, { 300, 0, 1000 },   { 510, 0, 100 }, /* as much again, and it is there */
        { 700, 390, 100 }, { 100, 700, 1000 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(
            memwatch_pause_ms(cases[i].mib * MIB, cases[i].before_mib * MIB, 1000 * MIB),
            cases[i].pause_ms);
}

static void who_asked_for_nothing_is_not_looked_at(void **state)
{
    struct memwatch w;

    (void)state;
    memwatch_begin(&w, 0, false);
    assert_int_equal(memwatch_wait_ms(&w), -1);
    assert_int_equal(memwatch_look(&w), 0);
}

/* Two children that have the same memory have it once. */
static void what_children_share_counts_once(void **state)
{
    const size_t bytes = 64 * MIB;
    const int64_t n = 64 * MIB;
    struct memwatch w;
    char *memory = malloc(bytes), byte;
    pid_t pids[2];
    int ends[2], go[2];

    (void)state;
#ifdef __SANITIZE_THREAD__ /* what it notes of memory is memory, too */
    skip_because("ThreadSanitizer keeps notes in memory, which counts as the test's");
#endif
    assert_non_null(memory);
    memset(memory, 1, bytes);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(pipe(go), 0);
    for (int i = 0; i < 2; i++) {
        pids[i] = fork();
        assert_true(pids[i] >= 0);
        if (pids[i] == 0) {
            close(go[1]);
            if (write(ends[1], "x", 1) == 1)
                (void)!read(go[0], &byte, 1);
            _exit(0);
        }
        assert_int_equal(read(ends[0], &byte, 1), 1);
    }
    memwatch_begin(&w, n * 5 / 4, false);
    w.next_ms = 0;
    assert_int_equal(memwatch_look(&w), 0);
    memwatch_begin(&w, n / 4, false);
    w.next_ms = 0;
    assert_true(memwatch_look(&w) > n / 4);
    memwatch_begin(&w, n / 4, true);
    w.next_ms = 0;
    assert_int_equal(memwatch_look(&w), 0); /* the kernel limits it */
    assert_in_range(w.peak_bytes, n / 2, n * 5 / 4);
    memwatch_begin(&w, 100 * n, false);
    w.next_ms = 0;
    assert_int_equal(memwatch_look(&w), 0);
    assert_in_range(w.peak_bytes, n / 2, n * 5 / 4);
    close(go[1]);
    for (int i = 0; i < 2; i++)
        assert_int_equal(waitpid(pids[i], NULL, 0), pids[i]);
    free(memory);
    close(ends[0]), close(ends[1]), close(go[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_group_of_version_2_is_found_with_its_counter),
        cmocka_unit_test(the_memory_of_version_1_comes_first),
        cmocka_unit_test(a_group_without_a_counter_is_counted_by_the_one_above),
        cmocka_unit_test(in_a_container_the_mount_may_show_our_part_only),
        cmocka_unit_test(the_least_limit_of_all_groups_above_holds),
        cmocka_unit_test(what_is_not_known_does_no_harm),
        cmocka_unit_test(this_machine_has_a_limit),
        cmocka_unit_test(only_a_kill_can_be_for_lack_of_memory),
        cmocka_unit_test(what_the_kernel_says_is_added_up),
        cmocka_unit_test(who_is_near_its_limit_is_looked_at_more_often),
        cmocka_unit_test(who_asked_for_nothing_is_not_looked_at),
        cmocka_unit_test(what_children_share_counts_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
