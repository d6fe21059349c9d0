/* SPDX-License-Identifier: MIT */
/* beneath.c - tests that no symlink leads out of a folder, with openat2 and without it */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

#include "common/base/beneath.h"
#include "common/base/io.h"
#include "common/base/mem.h"
#include "tests/unit/skip.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* inside/ is the folder; beside it lies what must not be reached. */
struct ground {
    char path[sizeof "/tmp/beneath-XXXXXX"];
    int top_fd, fd;
};

static void write_at(int dir_fd, const char *name, const char *text)
{
    struct err e = { 0 };

    if (io_write_file_at(dir_fd, name, text, strlen(text), 0600, &e) < 0)
        fail_msg("%s", e.text);
}

static void open_ground(struct ground *g)
{
    strcpy(g->path, "/tmp/beneath-XXXXXX");
    assert_non_null(mkdtemp(g->path));
    g->top_fd = open(g->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(g->top_fd >= 0);
    assert_int_equal(mkdirat(g->top_fd, "outside", 0700), 0);
    write_at(g->top_fd, "outside/precious", "mine");
    assert_int_equal(mkdirat(g->top_fd, "inside", 0700), 0);
    g->fd = openat(g->top_fd, "inside", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(g->fd >= 0);
    assert_int_equal(mkdirat(g->fd, "a", 0700), 0);
    assert_int_equal(mkdirat(g->fd, "a/b", 0700), 0);
    write_at(g->fd, "a/b/file", "text");
    assert_int_equal(symlinkat("../../outside", g->fd, "a/out"), 0);
    assert_int_equal(symlinkat("b", g->fd, "a/near"), 0);
    assert_int_equal(symlinkat("../../outside/precious", g->fd, "a/to_file"), 0);
    assert_int_equal(symlinkat("nowhere", g->fd, "a/dangling"), 0);
}

/* Nothing outside has changed. */
static void close_ground(struct ground *g)
{
    struct buf content = { 0 };
    struct err e = { 0 };
    struct stat st;

    assert_int_equal(io_read_file_at(g->top_fd, "outside/precious", 100, &content, &e), 0);
    assert_string_equal(buf_text(&content), "mine");
    buf_free(&content);
    assert_int_equal(fstatat(g->top_fd, "outside", &st, 0), 0);
    assert_int_equal(st.st_nlink, 2);
    assert_int_equal(st.st_mode & 07777, 0700);
    close(g->fd);
    close(g->top_fd);
    assert_int_equal(io_remove_tree(g->path, &e), 0);
}

static void what_lies_below_is_opened(void **state)
{
    static const char *const paths[] = {
        "", ".", "a", "a/b", "a/b/file", "a//b/file", "a/b/", "./a"
    };
    struct ground g;

    (void)state;
    open_ground(&g);
    for (size_t i = 0; i < LENGTH(paths); i++) {
        int fd = beneath_open(g.fd, paths[i], O_RDONLY, 0);

        if (fd < 0)
            fail_msg("%s: %s", paths[i], strerror(errno));
        assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
        close(fd);
    }
    close_ground(&g);
}

static void no_symlink_is_followed(void **state)
{
    static const struct {
        const char *path;
        int flags, error;
    } cases[] = {
        { "a/out/precious", O_RDONLY, ELOOP },
        { "a/out", O_RDONLY | O_DIRECTORY, ELOOP },
        { "a/near", O_RDONLY | O_DIRECTORY, ELOOP },
        { "a/near/file", O_RDONLY, ELOOP },
        { "a/near/file", O_WRONLY | O_TRUNC, ELOOP },
        { "a/to_file", O_RDONLY, ELOOP },
        { "a/to_file", O_WRONLY | O_CREAT | O_TRUNC, ELOOP },
        { "a/to_file", O_WRONLY | O_CREAT | O_EXCL, EEXIST },
        { "a/dangling", O_WRONLY | O_CREAT, ELOOP },
        { "a/out/new", O_WRONLY | O_CREAT | O_EXCL, ELOOP },
        { "../outside/precious", O_RDONLY, EXDEV },
        { "a/../../outside/precious", O_RDONLY, EXDEV },
        { "..", O_RDONLY | O_DIRECTORY, EXDEV },
        { "/etc/passwd", O_RDONLY, EXDEV },
        { "a/b/file/x", O_RDONLY, ENOTDIR },
        { "a/none", O_RDONLY, ENOENT },
        { "none/file", O_WRONLY | O_CREAT, ENOENT },
    };
    struct ground g;

    (void)state;
    open_ground(&g);
    for (size_t i = 0; i < LENGTH(cases); i++) {
        int fd = beneath_open(g.fd, cases[i].path, cases[i].flags, 0600);

        if (fd >= 0 || errno != cases[i].error)
            fail_msg("%s: %s", cases[i].path, fd >= 0 ? "was opened" : strerror(errno));
    }
    close_ground(&g);
}

static void new_files_replace_what_is_there(void **state)
{
    static const char *const names[] = { "a/b/new", "a/b/file", "a/to_file", "a/dangling" };
    struct ground g;
    struct stat st;
    int fd;

    (void)state;
    umask(0);
    open_ground(&g);
    assert_int_equal(linkat(g.top_fd, "outside/precious", g.fd, "a/b/second_name", 0), 0);
    for (size_t i = 0; i <= LENGTH(names); i++) {
        const char *name = i < LENGTH(names) ? names[i] : "a/b/second_name";

        fd = beneath_create(g.fd, name, 0640);
        assert_true(fd >= 0);
        assert_int_equal(write(fd, "new", 3), 3);
        close(fd);
        assert_int_equal(fstatat(g.fd, name, &st, AT_SYMLINK_NOFOLLOW), 0);
        assert_true(S_ISREG(st.st_mode) && st.st_size == 3 && (st.st_mode & 07777) == 0640);
    }
    assert_true(beneath_create(g.fd, "a/out/new", 0600) < 0 && errno == ELOOP);
    /* A folder is not removed. */
    assert_int_equal(beneath_create(g.fd, "a/b", 0600), -1);
    assert_int_equal(beneath_stat(g.fd, "a/b", &st), 0);
    close_ground(&g);
}

static void nothing_changes_beyond_a_symlink(void **state)
{
    struct ground g;
    struct err e = { 0 };
    struct stat st;
    char *target;

    (void)state;
    open_ground(&g);
    assert_true(beneath_stat(g.fd, "a/out/precious", &st) < 0 && errno == ELOOP);
    assert_true(beneath_make_dir(g.fd, "a/out/new", 0700) < 0 && errno == ELOOP);
    assert_true(beneath_make_link("x", g.fd, "a/out/new") < 0 && errno == ELOOP);
    assert_true(beneath_remove(g.fd, "a/out/precious", 0) < 0 && errno == ELOOP);
    assert_true(beneath_rename(g.fd, "a/out/precious", g.fd, "got") < 0 && errno == ELOOP);
    assert_true(beneath_rename(g.fd, "a/b/file", g.fd, "a/out/file") < 0 && errno == ELOOP);
    assert_int_equal(beneath_remove_tree(g.fd, "a/out/precious", &e), -1);
    assert_int_equal(e.kind, ERR_DENIED);
    assert_non_null(strstr(e.text, "symlink"));
    assert_null(beneath_read_link(g.fd, "a/out/precious", &e));
    assert_true(beneath_open_own(g.fd, "a/out/precious", O_RDONLY, 0600) < 0 && errno == ELOOP);

    /* The symlinks themselves are there, to be looked at and removed. */
    assert_int_equal(beneath_stat(g.fd, "a/out", &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    target = beneath_read_link(g.fd, "a/near", &e);
    assert_string_equal(target, "b");
    free(target);
    assert_int_equal(beneath_remove(g.fd, "a/to_file", 0), 0);
    assert_int_equal(beneath_remove_tree(g.fd, "a/out", &e), 0);
    close_ground(&g);
}

static void all_else_goes_as_without(void **state)
{
    struct ground g;
    struct err e = { 0 };
    struct stat st;

    (void)state;
    umask(0);
    open_ground(&g);
    assert_int_equal(beneath_make_dir(g.fd, "a/b/c", 0750), 0);
    assert_int_equal(beneath_make_link("target", g.fd, "a/b/c/link"), 0);
    assert_int_equal(beneath_rename(g.fd, "a/b/file", g.fd, "a/b/c/file"), 0);
    assert_int_equal(beneath_stat(g.fd, "a/b/c/file", &st), 0);
    assert_int_equal(st.st_size, 4);
    assert_int_equal(beneath_stat(g.fd, "", &st), 0);
    assert_true(S_ISDIR(st.st_mode));
    assert_int_equal(beneath_remove(g.fd, "a/b/c/link", 0), 0);
    assert_true(beneath_remove(g.fd, "a/b/c", AT_REMOVEDIR) < 0 && errno == ENOTEMPTY);
    assert_int_equal(beneath_remove_tree(g.fd, "a/b/c", &e), 0);
    assert_int_equal(beneath_remove_tree(g.fd, "a/b/c", &e), 0);
    assert_int_equal(beneath_remove_tree(g.fd, "none/of/it", &e), 0);
    assert_int_equal(beneath_remove(g.fd, "a/b", AT_REMOVEDIR), 0);
    close_ground(&g);
}

/* As a user whom modes keep out. */
static void our_own_is_opened_whatever_its_mode(void **state)
{
    struct ground g;
    struct stat st;
    int fd;

    (void)state;
    if (geteuid() == 0)
        assert_int_equal(seteuid(65534), 0);
    open_ground(&g);
    assert_int_equal(fchmodat(g.fd, "a/b/file", 0, 0), 0);
    assert_int_equal(fchmodat(g.fd, "a/b", 0500, 0), 0);
    fd = beneath_open_own(g.fd, "a/b/file", O_RDONLY, S_IRUSR);
    assert_true(fd >= 0);
    assert_true(fstat(fd, &st) == 0 && (st.st_mode & 07777) == S_IRUSR);
    close(fd);
    assert_int_equal(fchmodat(g.fd, "a/b", 0, 0), 0);
    fd = beneath_open_own(g.fd, "a/b", O_RDONLY | O_DIRECTORY, S_IRWXU);
    assert_true(fd >= 0);
    close(fd);
    close_ground(&g);
    assert_true(geteuid() == getuid() || seteuid(getuid()) == 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(what_lies_below_is_opened),
    cmocka_unit_test(no_symlink_is_followed),
    cmocka_unit_test(new_files_replace_what_is_there),
    cmocka_unit_test(nothing_changes_beyond_a_symlink),
    cmocka_unit_test(all_else_goes_as_without),
    cmocka_unit_test(our_own_is_opened_whatever_its_mode),
};

#if defined(__linux__) && defined(SYS_openat2)
/* As a kernel before 5.6 (ENOSYS), or a container's filter that does not know the call (EPERM). */
static bool take_openat2_away(int error)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = { LENGTH(filter), filter };

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0 &&
           syscall(SYS_openat2, -1, "", NULL, 0) < 0 && errno == error;
}

enum { CANNOT = 77 };

/* Runs this program again, as a process that has called openat2 does not forget it. */
static void without_openat2(int error)
{
    int status;
    pid_t pid;

    fflush(stdout);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        char text[16];

        if (!take_openat2_away(error))
            _exit(CANNOT);
        snprintf(text, sizeof text, "%d", error);
        (void)setenv("BENEATH_WITHOUT_OPENAT2", text, 1);
        execl("/proc/self/exe", "beneath", (char *)NULL);
        _exit(1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == CANNOT)
        skip_because("filters of system calls are not allowed here");
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void the_same_where_the_kernel_has_no_openat2(void **state)
{
    (void)state;
    without_openat2(ENOSYS);
}

static void the_same_where_a_filter_forbids_it(void **state)
{
    (void)state;
    without_openat2(EPERM);
}

int main(void)
{
    static const struct CMUnitTest again[] = {
        cmocka_unit_test(the_same_where_the_kernel_has_no_openat2),
        cmocka_unit_test(the_same_where_a_filter_forbids_it),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    if (failed == 0 && getenv("BENEATH_WITHOUT_OPENAT2") == NULL)
        failed = cmocka_run_group_tests(again, NULL, NULL);
    return failed;
}
#else
int main(void)
{
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
