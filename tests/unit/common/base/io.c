/* SPDX-License-Identifier: MIT */
/* io.c - whole reads and writes, files, and trees */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#endif

#include "common/base/io.h"
#include "tests/unit/skip.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

enum { NOBODY = 65534 };

/* --- a folder to work in, for each test ------------------------------------ */

static int folder_begin(void **state)
{
    char path[] = "/tmp/io-XXXXXX";

    (void)state;
    umask(022);
    return mkdtemp(path) == NULL || chdir(path) < 0 ? -1 : 0;
}

static int folder_end(void **state)
{
    char path[256];
    struct err e = { 0 };

    (void)state;
    if (getcwd(path, sizeof path) == NULL || chdir("/") < 0)
        return -1;
    return io_remove_tree(path, &e);
}

static void make_file(const char *path, const char *text, mode_t mode)
{
    assert_int_equal(io_write_file_at(AT_FDCWD, path, text, strlen(text), mode, NULL), 0);
    assert_int_equal(chmod(path, mode), 0);
}

static void assert_file_is(const char *path, const char *text)
{
    struct buf b = { 0 };
    struct err e = { 0 };

    if (io_read_file(path, 1000000, &b, &e) < 0)
        fail_msg("%s", e.text);
    assert_string_equal(buf_text(&b), text);
    buf_free(&b);
}

static mode_t mode_of(const char *path)
{
    struct stat st;

    assert_int_equal(lstat(path, &st), 0);
    return st.st_mode & 07777;
}

static int exists(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0;
}

static size_t count_entries(const char *path)
{
    DIR *dir = opendir(path);
    size_t n = 0;

    assert_non_null(dir);
    while (readdir(dir) != NULL)
        n++;
    closedir(dir);
    return n - 2;
}

/* --- reading and writing ---------------------------------------------------- */

static void on_alarm(int number)
{
    (void)number;
}

/* A signal every millisecond, which system calls are not begun again after. */
static void be_interrupted(long every_us)
{
    struct sigaction action = { .sa_handler = on_alarm };
    struct itimerval timer = { { 0, every_us }, { 0, every_us } };

    assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &timer, NULL), 0);
}

static void wait_ms(long ms)
{
    struct timespec left = { ms / 1000, ms % 1000 * 1000000 };

    while (nanosleep(&left, &left) < 0)
        assert_int_equal(errno, EINTR);
}

/* First the reader waits for the writer, then the writer for the reader, each
 * long enough to be interrupted with nothing transferred. */
static void all_is_written_and_read_in_spite_of_signals_and_short_transfers(void **state)
{
    enum { SIZE = 4000000, WAIT_MS = 50 };
    char *bytes = malloc(SIZE), *got = malloc(SIZE + 10);
    int pipe_fds[2], status = -1;
    pid_t pid;

    (void)state;
    for (size_t i = 0; i < SIZE; i++)
        bytes[i] = (char)(i % 251);
    assert_int_equal(pipe(pipe_fds), 0);
    pid = fork();
    be_interrupted(1000);
    if (pid == 0) {
        close(pipe_fds[0]);
        wait_ms(WAIT_MS);
        _exit(io_write_all(pipe_fds[1], bytes, SIZE) < 0);
    }
    close(pipe_fds[1]);
    assert_int_equal(io_read_all(pipe_fds[0], got, 1), 1);
    wait_ms(WAIT_MS);
    assert_int_equal(io_read_all(pipe_fds[0], got + 1, SIZE + 9), SIZE - 1);
    be_interrupted(0);
    assert_memory_equal(got, bytes, SIZE);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    close(pipe_fds[0]);
    free(bytes);
    free(got);
}

static void what_is_read_from_somewhere_leaves_the_place_alone(void **state)
{
    FILE *f = tmpfile();
    char got[10] = "";
    int fd;

    (void)state;
    assert_non_null(f);
    fd = fileno(f);
    assert_int_equal(io_write_all(fd, "abcdefg", 7), 0);
    assert_int_equal(lseek(fd, 1, SEEK_SET), 1);
    assert_int_equal(io_read_all_at(fd, got, 3, 2), 3);
    assert_string_equal(got, "cde");
    assert_int_equal(io_read_all_at(fd, got, sizeof got, 5), 2);
    assert_memory_equal(got, "fg", 2);
    assert_int_equal(io_read_all_at(fd, got, sizeof got, 7), 0);
    assert_int_equal(lseek(fd, 0, SEEK_CUR), 1);
    assert_int_equal(io_read_all_at(-1, got, 1, 0), -1);
    assert_int_equal(errno, EBADF);
    (void)fclose(f);
}

/* In the place of the C library's: a disk that takes nothing and calls that no error. */
static bool disk_takes_nothing;

ssize_t pwrite(int fd, const void *buf, size_t n, off_t offset)
{
    return disk_takes_nothing ? 0 : (ssize_t)syscall(SYS_pwrite64, fd, buf, n, offset);
}

static void what_is_written_somewhere_leaves_the_place_alone(void **state)
{
    FILE *f = tmpfile();
    char got[10] = "";
    int fd;

    (void)state;
    assert_non_null(f);
    fd = fileno(f);
    assert_int_equal(io_write_all_at(fd, "cdefg", 5, 2), 0);
    assert_int_equal(io_write_all_at(fd, "ab", 2, 0), 0);
    assert_int_equal(lseek(fd, 0, SEEK_CUR), 0);
    assert_int_equal(io_read_all(fd, got, sizeof got), 7);
    assert_string_equal(got, "abcdefg");
    disk_takes_nothing = true;
    assert_int_equal(io_write_all_at(fd, "x", 1, 0), -1);
    disk_takes_nothing = false;
    assert_int_equal(errno, EIO);
    (void)fclose(f);
}

static void what_cannot_be_transferred_says_why_in_errno(void **state)
{
    char byte = 'x';

    (void)state;
    errno = 0;
    assert_int_equal(io_write_all(-1, &byte, 1), -1);
    assert_int_equal(errno, EBADF);
    errno = 0;
    assert_int_equal(io_read_all(-1, &byte, 1), -1);
    assert_int_equal(errno, EBADF);
    assert_int_equal(io_write_all(-1, &byte, 0), 0);
}

static void a_file_is_appended_to_what_the_buffer_holds(void **state)
{
    struct buf b = { 0 };

    (void)state;
    make_file("f", "content", 0600);
    buf_add_str(&b, "the ");
    assert_int_equal(io_read_file("f", 7, &b, NULL), 0);
    assert_string_equal(buf_text(&b), "the content");
    buf_free(&b);
}

static void a_file_of_any_size_is_read_whole_up_to_the_limit(void **state)
{
    static const size_t sizes[] = { 0, 1, 4095, 4096, 4097, 12287, 12288, 300000, 1000001 };
    char *content = malloc(1000001);

    (void)state;
    memset(content, 'x', 1000001);
    for (size_t i = 0; i < LENGTH(sizes); i++) {
        struct buf b = { 0 };
        struct err e = { 0 };

        assert_int_equal(io_write_file_at(AT_FDCWD, "f", content, sizes[i], 0600, &e), 0);
        assert_int_equal(io_read_file("f", sizes[i], &b, &e), 0);
        assert_int_equal(b.n, sizes[i]);
        assert_int_equal(io_read_file("f", SIZE_MAX, &b, &e), 0);
        assert_int_equal(b.n, 2 * sizes[i]);
        if (sizes[i] > 0) {
            assert_int_equal(io_read_file("f", sizes[i] - 1, &b, &e), -1);
            assert_int_equal(e.kind, ERR_USAGE);
            assert_non_null(strstr(e.text, "f is larger than"));
        }
        assert_int_equal(b.n, 2 * sizes[i]);
        assert_int_equal(strlen(buf_text(&b)), b.n);
        buf_free(&b);
    }
    free(content);
}

static void a_file_that_cannot_be_read_is_named(void **state)
{
    struct buf b = { 0 };
    struct err e = { 0 };

    (void)state;
    assert_int_equal(io_read_file("missing", 10, &b, &e), -1);
    assert_int_equal(e.kind, ERR_NOT_FOUND);
    assert_non_null(strstr(e.text, "missing"));
    assert_int_equal(io_read_file(".", 10, &b, &e), -1);
    assert_int_equal(e.kind, ERR_FAILED);
    assert_int_equal(b.n, 0);
    buf_free(&b);
}

static void writing_a_file_replaces_all_that_was_in_it(void **state)
{
    int dir;

    (void)state;
    assert_int_equal(mkdir("d", 0755), 0);
    dir = io_open_dir("d", NULL);
    assert_true(fcntl(dir, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(io_write_file_at(dir, "f", "long content", 12, 0640, NULL), 0);
    assert_int_equal(mode_of("d/f"), 0640);
    assert_int_equal(io_write_file_at(dir, "f", "short", 5, 0600, NULL), 0);
    assert_file_is("d/f", "short");
    close(dir);
}

static void a_full_disk_is_told_apart(void **state)
{
    struct err e = { 0 };

    (void)state;
    if (access("/dev/full", W_OK) < 0)
        skip_because("takes /dev/full");
    assert_int_equal(io_write_file_at(AT_FDCWD, "/dev/full", "x", 1, 0600, &e), -1);
    assert_int_equal(e.kind, ERR_NO_SPACE);
    assert_non_null(strstr(e.text, "/dev/full"));
}

static void a_replaced_file_is_new_and_nothing_else_is_left(void **state)
{
    int old;
    char text[4] = "";

    (void)state;
    assert_int_equal(mkdir("d", 0755), 0);
    make_file("d/f", "old", 0600);
    old = open("d/f", O_RDONLY | O_CLOEXEC);
    assert_int_equal(io_replace_file("d/f", "new", 3, 0644, NULL), 0);
    assert_file_is("d/f", "new");
    assert_int_equal(mode_of("d/f"), 0644);
    assert_int_equal(io_read_all(old, text, 3), 3);
    assert_string_equal(text, "old");
    assert_int_equal(io_replace_file("bare", "x", 1, 0600, NULL), 0);
    assert_file_is("bare", "x");
    assert_int_equal(count_entries("d"), 1);
    close(old);
}

static void what_cannot_be_replaced_stays_as_it_was(void **state)
{
    struct err e = { 0 };

    (void)state;
    assert_int_equal(io_make_dirs("d/f", 0755, NULL), 0);
    assert_int_equal(io_replace_file("d/f", "new", 3, 0644, &e), -1);
    assert_non_null(strstr(e.text, "d/f"));
    assert_int_equal(count_entries("d"), 1);
    assert_int_equal(count_entries("d/f"), 0);
    assert_int_equal(io_replace_file("missing/f", "new", 3, 0644, &e), -1);
    assert_int_equal(e.kind, ERR_NOT_FOUND);
}

/* --- folders ------------------------------------------------------------------ */

static void folders_are_made_with_all_above_them(void **state)
{
    static const char *const paths[] = { "a/b/c", "a/b/c", "x//y/", "./z", "a/b/../q", "w" };
    struct buf absolute = { 0 };
    char here[256];
    struct err e = { 0 };

    (void)state;
    for (size_t i = 0; i < LENGTH(paths); i++) {
        struct stat st;

        if (io_make_dirs(paths[i], 0750, &e) < 0)
            fail_msg("%s", e.text);
        assert_int_equal(stat(paths[i], &st), 0);
        assert_true(S_ISDIR(st.st_mode));
        assert_int_equal(st.st_mode & 0777, 0750);
    }
    assert_non_null(getcwd(here, sizeof here));
    buf_printf(&absolute, "%s/abs/olute", here);
    assert_int_equal(io_make_dirs(buf_text(&absolute), 0700, &e), 0);
    buf_free(&absolute);
    assert_int_equal(mode_of("abs/olute"), 0700);
    assert_int_equal(io_make_dirs("/", 0700, &e), 0);
}

static void folders_that_exist_keep_their_modes_also_behind_links(void **state)
{
    (void)state;
    assert_int_equal(mkdir("a", 0711), 0);
    assert_int_equal(symlink("a", "link"), 0);
    assert_int_equal(io_make_dirs("link/b", 0700, NULL), 0);
    assert_int_equal(mode_of("a"), 0711);
    assert_true(exists("a/b"));
}

static void a_file_in_the_way_is_named(void **state)
{
    struct err e = { 0 };

    (void)state;
    make_file("f", "", 0600);
    assert_int_equal(io_make_dirs("f/b/c", 0700, &e), -1);
    assert_string_equal(e.text, "create f: File exists");
    assert_int_equal(io_make_dirs("f", 0700, &e), -1);
    assert_int_equal(e.kind, ERR_EXISTS);
    assert_int_equal(io_make_dirs("", 0700, &e), -1);
    assert_int_equal(io_open_dir("f", &e), -1);
    assert_int_equal(e.kind, ERR_NOT_FOUND);
}

/* --- removing ------------------------------------------------------------------- */

static void a_tree_is_removed_and_what_its_links_lead_to_stays(void **state)
{
    struct err e = { 0 };

    (void)state;
    assert_int_equal(io_make_dirs("kept/in", 0700, NULL), 0);
    make_file("kept/file", "x", 0600);
    assert_int_equal(io_make_dirs("t/a/b", 0700, NULL), 0);
    for (int i = 0; i < 500; i++) {
        char name[64];

        snprintf(name, sizeof name, "t/a/%d", i);
        if (i % 3 == 0)
            assert_int_equal(mkdir(name, 0700), 0);
        else
            make_file(name, "x", 0400);
    }
    assert_int_equal(symlink("../kept", "t/link"), 0);
    assert_int_equal(symlink("nowhere", "t/a/dangling"), 0);
    assert_int_equal(mkfifo("t/fifo", 0600), 0);
    if (io_remove_tree("t", &e) < 0)
        fail_msg("%s", e.text);
    assert_false(exists("t"));
    assert_int_equal(count_entries("kept"), 2);
}

static void a_link_a_file_or_nothing_can_be_removed_as_well(void **state)
{
    static const char *const links[] = { "link", "link/", "link//" };

    (void)state;
    assert_int_equal(mkdir("d", 0700), 0);
    make_file("d/f", "x", 0600);
    for (size_t i = 0; i < LENGTH(links); i++) {
        assert_int_equal(symlink("d", "link"), 0);
        assert_int_equal(io_remove_tree(links[i], NULL), 0);
        assert_false(exists("link"));
        assert_true(exists("d/f"));
    }
    assert_int_equal(io_remove_tree("d/f", NULL), 0);
    assert_false(exists("d/f"));
    assert_int_equal(io_remove_tree("d/missing", NULL), 0);
    assert_int_equal(io_remove_tree("missing/missing", NULL), 0);
    assert_int_equal(io_remove_tree("d/", NULL), 0);
    assert_false(exists("d"));
}

static void a_tree_below_a_descriptor_is_removed(void **state)
{
    int dir;

    (void)state;
    assert_int_equal(io_make_dirs("d/t/a", 0700, NULL), 0);
    dir = io_open_dir("d", NULL);
    assert_int_equal(io_remove_tree_at(dir, "t", NULL), 0);
    assert_int_equal(count_entries("d"), 0);
    close(dir);
}

static void what_is_no_name_is_never_removed(void **state)
{
    static const char *const names[] = { "", ".", "..", "/", "//", "a/.", "a/..", "a/../" };

    (void)state;
    assert_int_equal(mkdir("a", 0700), 0);
    make_file("a/f", "x", 0600);
    for (size_t i = 0; i < LENGTH(names); i++) {
        struct err e = { 0 };

        assert_int_equal(io_remove_tree(names[i], &e), -1);
        assert_int_equal(e.kind, ERR_USAGE);
    }
    assert_true(exists("a/f"));
}

/* Makes a chain of folders that no path reaches the end of, with a file in each. */
static void make_deep(const char *top, int levels)
{
    int fd;

    assert_int_equal(mkdir(top, 0700), 0);
    fd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < levels; i++) {
        int below;

        assert_int_equal(io_write_file_at(fd, "f", "x", 1, 0600, NULL), 0);
        assert_int_equal(mkdirat(fd, "sub", 0700), 0);
        assert_int_equal(mkdirat(fd, "other", 0700), 0);
        below = openat(fd, "sub", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        close(fd);
        fd = below;
    }
    close(fd);
}

static void a_tree_deeper_than_any_path_is_removed_with_few_descriptors(void **state)
{
    struct rlimit usual, few;
    struct err e = { 0 };
    int result;

    (void)state;
    make_deep("deep", 4000);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
    few = usual;
    few.rlim_cur = 60;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    result = io_remove_tree("deep", &e);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
    if (result < 0)
        fail_msg("%s", e.text);
    assert_false(exists("deep"));
}

/* Runs in a process without root's rights, in a folder of its own; 0 is success. */
static void assert_works_without_root(int (*work)(void))
{
    int status = -1;
    pid_t pid;

    assert_int_equal(mkdir("own", 0700), 0);
    if (geteuid() == 0) {
        assert_int_equal(chmod(".", 0755), 0);
        assert_int_equal(chown("own", NOBODY, NOBODY), 0);
    }
    pid = fork();
    if (pid == 0) {
        if (chdir("own") < 0)
            _exit(101);
        if (geteuid() == 0 && (setgroups(0, NULL) < 0 || setgid(NOBODY) < 0 || setuid(NOBODY) < 0))
            _exit(102);
        _exit(work());
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static const mode_t locked_modes[] = { 0000, 0100, 0200, 0300, 0400, 0500, 0600 };

static int lock_folders(void)
{
    for (size_t i = 0; i < LENGTH(locked_modes); i++) {
        char name[32], inner[48], file[64];

        snprintf(name, sizeof name, "t/locked%zu", i);
        snprintf(inner, sizeof inner, "%s/inner", name);
        snprintf(file, sizeof file, "%s/file", inner);
        if (io_make_dirs(inner, 0700, NULL) < 0 ||
            io_write_file_at(AT_FDCWD, file, "x", 1, 0600, NULL) < 0)
            return -1;
        if (chmod(file, locked_modes[i]) < 0 || chmod(inner, locked_modes[i]) < 0 ||
            chmod(name, locked_modes[i]) < 0)
            return -1;
    }
    return chmod("t", 0500);
}

static int remove_locked_folders(void)
{
    if (lock_folders() < 0)
        return 1;
    if (io_remove_tree("t", NULL) < 0)
        return 2;
    return exists("t") ? 3 : 0;
}

static void folders_that_lock_out_their_owner_are_removed(void **state)
{
    (void)state;
    assert_works_without_root(remove_locked_folders);
}

/* The first error ends it, names the whole path, and leaves no descriptor open. */
static int be_refused(void)
{
    struct err e = { 0 };
    int next = dup(0);

    close(next);
    if (mkdir("t", 0700) < 0 || io_remove_tree("../foreign", &e) == 0)
        return 1;
    if (e.kind != ERR_DENIED || strstr(e.text, "../foreign/a/f") == NULL)
        return 2;
    return dup(0) == next ? 0 : 3;
}

static void what_belongs_to_others_is_refused_by_name(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip_because("takes root");
    assert_int_equal(io_make_dirs("foreign/a", 0755, NULL), 0);
    make_file("foreign/a/f", "x", 0600);
    assert_works_without_root(be_refused);
    assert_true(exists("foreign/a/f"));
}

/* --- copying ---------------------------------------------------------------------- */

#ifdef __linux__
/* What the kernel's two short cuts answer in this program, in place of the real ones. */
static struct {
    int clone_errno;   /* 0: cloning works */
    int range_errno;   /* what copy_file_range fails with, 0: it answers 0 */
    ssize_t range_max; /* bytes it copies at most in one call */
    int range_calls;   /* that work before it fails; negative: all */
} kernel;

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
int ioctl(int out_fd, unsigned long request, ...)
{
    va_list ap;
    int in_fd;
    char piece[65536];
    ssize_t n;

    va_start(ap, request);
    in_fd = va_arg(ap, int);
    va_end(ap);
    errno = request == FICLONE ? kernel.clone_errno : ENOTTY;
    if (errno != 0)
        return -1;
    for (off_t at = 0; (n = pread(in_fd, piece, sizeof piece, at)) > 0; at += n)
        if (pwrite(out_fd, piece, (size_t)n, at) != n)
            return -1;
    return 0;
}

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
ssize_t copy_file_range(int in_fd, off_t *in_at, int out_fd, off_t *out_at, size_t n,
                        unsigned flags)
{
    if (kernel.range_calls == 0) {
        errno = kernel.range_errno;
        return errno != 0 ? -1 : 0;
    }
    if (kernel.range_calls > 0)
        kernel.range_calls--;
    if (n > (size_t)kernel.range_max)
        n = (size_t)kernel.range_max;
    return syscall(SYS_copy_file_range, in_fd, in_at, out_fd, out_at, n, flags);
}

enum { COPY_BYTES = 1000000, COPY_FROM = 1000 };

/* Copies all but the first bytes of a file behind what another one holds. */
static void check_copy(off_t from, off_t to)
{
    char *content = malloc(COPY_BYTES), *got = malloc(COPY_BYTES + 10);
    int in = open("in", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    int out = open("out", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    uint64_t copied = 0;
    struct err e = { 0 };
    size_t expected = COPY_BYTES - (size_t)from;

    for (size_t i = 0; i < COPY_BYTES; i++)
        content[i] = (char)(i * 7 % 253);
    assert_int_equal(io_write_all(in, content, COPY_BYTES), 0);
    assert_int_equal(io_write_all(out, "0123456789", (size_t)to), 0);
    assert_int_equal(lseek(in, from, SEEK_SET), from);
    if (io_copy_fd(in, out, &copied, &e) < 0)
        fail_msg("%s", e.text);
    assert_int_equal(copied, expected);
    assert_int_equal(lseek(in, 0, SEEK_CUR), COPY_BYTES);
    assert_int_equal(lseek(out, 0, SEEK_CUR), to + (off_t)expected);
    assert_int_equal(lseek(out, to, SEEK_SET), to);
    assert_int_equal(io_read_all(out, got, COPY_BYTES + 10), expected);
    assert_memory_equal(got, content + from, expected);
    close(in);
    close(out);
    free(content);
    free(got);
}

static void a_copy_is_whole_whatever_the_kernel_supports(void **state)
{
    static const int answers[] = { EXDEV, EINVAL, EOPNOTSUPP, ENOSYS, EBADF,
                                   EPERM, EIO,    ETXTBSY,    ENOTTY, 0 };

    (void)state;
    for (size_t i = 0; i < LENGTH(answers); i++)
        for (int calls = -1; calls < 3; calls++) {
            kernel.clone_errno = answers[i] != 0 ? answers[i] : EOPNOTSUPP;
            kernel.range_errno = answers[i];
            kernel.range_max = calls % 2 == 0 ? 1 : 300007;
            kernel.range_calls = calls;
            check_copy(0, 0);
            kernel.range_calls = calls;
            check_copy(COPY_FROM, 10);
        }
}

static void a_cloned_copy_leaves_both_files_at_their_ends(void **state)
{
    (void)state;
    kernel.clone_errno = 0;
    kernel.range_calls = 0;
    kernel.range_errno = EIO;
    check_copy(0, 0);
}

static void only_whole_files_are_cloned_into_empty_ones(void **state)
{
    (void)state;
    kernel.clone_errno = 0;
    kernel.range_calls = -1;
    kernel.range_max = COPY_BYTES;
    check_copy(COPY_FROM, 0);
    check_copy(0, 10);
}
#endif

static void a_copy_has_no_more_blocks_than_the_file(void **state)
{
    const off_t far = (off_t)1 << 26; /* a mebibyte is little beside it */
    int in = open("in", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    int out = open("out", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    uint64_t copied = 0;
    char got[8] = "";
    struct err e = { 0 };
    struct stat st;

    (void)state;
    assert_int_equal(io_write_all(in, "begin", 5), 0);
    assert_int_equal(lseek(in, far, SEEK_SET), far);
    assert_int_equal(io_write_all(in, "mid", 3), 0);
    assert_int_equal(ftruncate(in, 2 * far), 0);
    assert_int_equal(io_write_all(out, "0123456789", 10), 0);
    assert_int_equal(lseek(in, 2, SEEK_SET), 2);
    if (io_copy_fd(in, out, &copied, &e) < 0)
        fail_msg("%s", e.text);
    assert_int_equal(copied, 2 * far - 2);
    assert_int_equal(fstat(out, &st), 0);
    assert_int_equal(st.st_size, 10 + 2 * far - 2);
    assert_int_equal(lseek(out, 0, SEEK_CUR), st.st_size);
    assert_true(st.st_blocks < 2048);
    assert_int_equal(io_read_all_at(out, got, 4, 9), 4);
    assert_memory_equal(got, "9gin", 4);
    assert_int_equal(io_read_all_at(out, got, 5, (uint64_t)(10 + far - 3)), 5);
    assert_memory_equal(got, "\0mid\0", 5);
    close(in);
    close(out);
}

static void what_comes_through_a_pipe_is_copied_too(void **state)
{
    int in[2], out[2];
    char got[16] = "";
    uint64_t copied = 0;

    (void)state;
    assert_int_equal(pipe(in), 0);
    assert_int_equal(pipe(out), 0);
    assert_int_equal(io_write_all(in[1], "through", 7), 0);
    close(in[1]);
    assert_int_equal(io_copy_fd(in[0], out[1], &copied, NULL), 0);
    close(out[1]);
    assert_int_equal(copied, 7);
    assert_int_equal(io_read_all(out[0], got, sizeof got - 1), 7);
    assert_string_equal(got, "through");
    close(in[0]);
    close(out[0]);
}

static void a_copy_that_fails_says_on_which_side(void **state)
{
    int in, out;
    struct err e = { 0 };

    (void)state;
    make_file("f", "x", 0600);
    in = open("f", O_RDONLY | O_CLOEXEC);
    out = open("f", O_WRONLY | O_CLOEXEC);
    assert_int_equal(io_copy_fd(out, out, NULL, &e), -1);
    assert_memory_equal(e.text, "read: ", 6);
    assert_int_equal(io_copy_fd(in, in, NULL, &e), -1);
    assert_memory_equal(e.text, "write: ", 7);
    close(in);
    close(out);
}

static void copy_tree(const char *from, const char *to)
{
    struct err e = { 0 };

    if (io_copy_tree_at(AT_FDCWD, from, AT_FDCWD, to, &e) < 0)
        fail_msg("%s", e.text);
}

static void assert_link_is(const char *path, const char *target)
{
    char got[5000] = "";

    assert_true(readlink(path, got, sizeof got - 1) >= 0);
    assert_string_equal(got, target);
}

static void a_tree_is_copied_with_its_folders_links_and_execute_bits(void **state)
{
    char long_target[1200];

    (void)state;
    memset(long_target, 'x', sizeof long_target);
    long_target[sizeof long_target - 1] = '\0';
    assert_int_equal(io_make_dirs("from/a/b/empty", 0750, NULL), 0);
    assert_int_equal(mkdir("to", 0755), 0);
    make_file("from/plain", "plain", 0644);
    make_file("from/a/run.sh", "run", 0755);
    make_file("from/a/b/secret", "secret", 0400);
    assert_int_equal(symlink("a/run.sh", "from/link"), 0);
    assert_int_equal(symlink("/nowhere", "from/a/dangling"), 0);
    assert_int_equal(symlink("a", "from/folder-link"), 0);
    assert_int_equal(symlink(long_target, "from/long"), 0);
    copy_tree("from", "to/copy");
    assert_file_is("to/copy/plain", "plain");
    assert_file_is("to/copy/a/run.sh", "run");
    assert_file_is("to/copy/a/b/secret", "secret");
    assert_link_is("to/copy/link", "a/run.sh");
    assert_link_is("to/copy/a/dangling", "/nowhere");
    assert_link_is("to/copy/folder-link", "a");
    assert_link_is("to/copy/long", long_target);
    assert_int_equal(mode_of("to/copy/plain"), 0644);
    assert_int_equal(mode_of("to/copy/a/run.sh"), 0755);
    assert_int_equal(mode_of("to/copy/a/b/secret"), 0600);
    assert_int_equal(mode_of("to/copy/a/b/empty"), 0750);
    assert_int_equal(count_entries("to/copy"), 5);
    assert_int_equal(count_entries("to/copy/a"), 3);
    assert_int_equal(count_entries("to/copy/a/b"), 2);
}

static void the_umask_says_what_others_may_do_with_a_copy(void **state)
{
    (void)state;
    assert_int_equal(mkdir("from", 0777), 0);
    assert_int_equal(chmod("from", 0777), 0);
    make_file("from/f", "", 0666);
    umask(027);
    copy_tree("from", "to");
    umask(022);
    assert_int_equal(mode_of("to"), 0750);
    assert_int_equal(mode_of("to/f"), 0640);
}

static void a_single_file_or_link_is_a_tree(void **state)
{
    (void)state;
    make_file("f", "x", 0600);
    assert_int_equal(symlink("f", "l"), 0);
    copy_tree("f", "f2");
    copy_tree("l", "l2");
    assert_file_is("f2", "x");
    assert_link_is("l2", "f");
}

static void what_is_there_already_is_not_overwritten(void **state)
{
    struct err e = { 0 };

    (void)state;
    assert_int_equal(mkdir("d", 0700), 0);
    make_file("f", "mine", 0600);
    make_file("g", "other", 0600);
    assert_int_equal(mkdir("e", 0700), 0);
    assert_int_equal(io_copy_tree_at(AT_FDCWD, "d", AT_FDCWD, "e", &e), -1);
    assert_int_equal(e.kind, ERR_EXISTS);
    assert_int_equal(io_copy_tree_at(AT_FDCWD, "g", AT_FDCWD, "f", &e), -1);
    assert_int_equal(e.kind, ERR_EXISTS);
    assert_file_is("f", "mine");
    assert_int_equal(io_copy_tree_at(AT_FDCWD, "missing", AT_FDCWD, "x", &e), -1);
    assert_int_equal(e.kind, ERR_NOT_FOUND);
}

static void make_socket(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    close(fd);
}

static void what_is_neither_file_nor_folder_is_refused_by_name(void **state)
{
    struct err e = { 0 };

    (void)state;
    assert_int_equal(io_make_dirs("d/a", 0700, NULL), 0);
    assert_int_equal(mkfifo("d/a/pipe", 0600), 0);
    assert_int_equal(io_copy_tree_at(AT_FDCWD, "d", AT_FDCWD, "e", &e), -1);
    assert_string_equal(e.text, "d/a/pipe is a fifo, which cannot be copied");
    make_socket("sock");
    assert_int_equal(io_copy_tree_at(AT_FDCWD, "sock", AT_FDCWD, "s", &e), -1);
    assert_string_equal(e.text, "sock is a socket, which cannot be copied");
    assert_int_equal(io_copy_tree_at(AT_FDCWD, "/dev/null", AT_FDCWD, "n", &e), -1);
    assert_string_equal(e.text, "/dev/null is a device, which cannot be copied");
}

static int copy_locked_folders(void)
{
    if (lock_folders() < 0)
        return 1;
    if (io_copy_tree_at(AT_FDCWD, "t", AT_FDCWD, "copy", NULL) < 0)
        return 2;
    for (size_t i = 0; i < LENGTH(locked_modes); i++) {
        char path[64];

        snprintf(path, sizeof path, "copy/locked%zu/inner/file", i);
        if (access(path, R_OK | W_OK) < 0)
            return 3;
    }
    return 0;
}

static void folders_that_lock_out_their_owner_are_copied(void **state)
{
    (void)state;
    assert_works_without_root(copy_locked_folders);
}

/* --- descriptors ---------------------------------------------------------------------- */

static void a_nonblocking_descriptor_does_not_wait(void **state)
{
    int fds[2];
    char byte;
    struct err e = { 0 };

    (void)state;
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(io_set_nonblocking(fds[0], &e), 0);
    assert_int_equal(read(fds[0], &byte, 1), -1);
    assert_int_equal(errno, EAGAIN);
    close(fds[0]);
    close(fds[1]);
    assert_int_equal(io_set_nonblocking(-1, &e), -1);
    assert_int_equal(e.kind, ERR_FAILED);
}

static void a_lock_is_held_by_one_until_it_is_closed(void **state)
{
    struct err e = { 0 };
    int first = io_lock_file("lock", &e);
    int again;

    (void)state;
    assert_true(first >= 0);
    assert_true(fcntl(first, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(io_lock_file("lock", &e), -1);
    assert_int_equal(e.kind, ERR_BUSY);
    assert_non_null(strstr(e.text, "lock"));
    close(first);
    again = io_lock_file("lock", &e);
    assert_true(again >= 0);
    close(again);
    assert_int_equal(io_lock_file("missing/lock", &e), -1);
    assert_int_equal(e.kind, ERR_NOT_FOUND);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_begin, folder_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_is_written_and_read_in_spite_of_signals_and_short_transfers),
        cmocka_unit_test(what_is_read_from_somewhere_leaves_the_place_alone),
        cmocka_unit_test(what_is_written_somewhere_leaves_the_place_alone),
        cmocka_unit_test(what_cannot_be_transferred_says_why_in_errno),
        IN_FOLDER(a_file_is_appended_to_what_the_buffer_holds),
        IN_FOLDER(a_file_of_any_size_is_read_whole_up_to_the_limit),
        IN_FOLDER(a_file_that_cannot_be_read_is_named),
        IN_FOLDER(writing_a_file_replaces_all_that_was_in_it),
        IN_FOLDER(a_full_disk_is_told_apart),
        IN_FOLDER(a_replaced_file_is_new_and_nothing_else_is_left),
        IN_FOLDER(what_cannot_be_replaced_stays_as_it_was),
        IN_FOLDER(folders_are_made_with_all_above_them),
        IN_FOLDER(folders_that_exist_keep_their_modes_also_behind_links),
        IN_FOLDER(a_file_in_the_way_is_named),
        IN_FOLDER(a_tree_is_removed_and_what_its_links_lead_to_stays),
        IN_FOLDER(a_link_a_file_or_nothing_can_be_removed_as_well),
        IN_FOLDER(a_tree_below_a_descriptor_is_removed),
        IN_FOLDER(what_is_no_name_is_never_removed),
        IN_FOLDER(a_tree_deeper_than_any_path_is_removed_with_few_descriptors),
        IN_FOLDER(folders_that_lock_out_their_owner_are_removed),
        IN_FOLDER(what_belongs_to_others_is_refused_by_name),
#ifdef __linux__
        IN_FOLDER(a_copy_is_whole_whatever_the_kernel_supports),
        IN_FOLDER(a_cloned_copy_leaves_both_files_at_their_ends),
        IN_FOLDER(only_whole_files_are_cloned_into_empty_ones),
#endif
        IN_FOLDER(a_copy_has_no_more_blocks_than_the_file),
        IN_FOLDER(what_comes_through_a_pipe_is_copied_too),
        IN_FOLDER(a_copy_that_fails_says_on_which_side),
        IN_FOLDER(a_tree_is_copied_with_its_folders_links_and_execute_bits),
        IN_FOLDER(the_umask_says_what_others_may_do_with_a_copy),
        IN_FOLDER(a_single_file_or_link_is_a_tree),
        IN_FOLDER(what_is_there_already_is_not_overwritten),
        IN_FOLDER(what_is_neither_file_nor_folder_is_refused_by_name),
        IN_FOLDER(folders_that_lock_out_their_owner_are_copied),
        IN_FOLDER(a_nonblocking_descriptor_does_not_wait),
        IN_FOLDER(a_lock_is_held_by_one_until_it_is_closed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
