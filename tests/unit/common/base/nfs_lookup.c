/* SPDX-License-Identifier: MIT */
/* nfs_lookup.c - tests of looking for what somebody else makes */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/nfs_lookup.h"
#include "tests/unit/skip.h"

enum { NOBODY = 65534 };

/* As folder: a/b/file, a/link -> b, through/file, where through may be passed and not be read. */
static int folder_begin(void **state)
{
    static char path[] = "/tmp/look-XXXXXX";

    *state = path;
    if (mkdtemp(path) == NULL || chdir(path) < 0 || chmod(".", 0755) < 0)
        return -1;
    return mkdir("a", 0755) == 0 && mkdir("a/b", 0755) == 0 && mkdir("through", 0711) == 0 &&
                   symlink("b", "a/link") == 0 &&
                   io_write_file_at(AT_FDCWD, "a/b/file", "x", 1, 0644, NULL) == 0 &&
                   io_write_file_at(AT_FDCWD, "through/file", "x", 1, 0644, NULL) == 0
               ? 0
               : -1;
}

static int folder_end(void **state)
{
    return chdir("/") == 0 && io_remove_tree(*state, NULL) == 0 ? 0 : -1;
}

static const struct {
    const char *path;
    int error; /* 0: it is there */
} cases[] = {
    { "a/b/file", 0 },
    { "a//b/file", 0 },
    { "a/link/file", 0 },
    { "a/b/none", ENOENT },
    { "a/none/file", ENOENT },
    { "none", ENOENT },
    { "/nowhere/at/all", ENOENT },
    { "a/b/file/below", ENOTDIR },
    { "through/file", 0 },
    { "through/none", ENOENT },
};

static void look_at_all(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct stat st;
        int fd, rc;

        errno = 0;
        fd = nfs_lookup_open(AT_FDCWD, cases[i].path, O_RDONLY | O_CLOEXEC);
        assert_int_equal(fd < 0 ? errno : 0, cases[i].error);
        if (fd >= 0)
            close(fd);
        errno = 0;
        rc = nfs_lookup_stat(AT_FDCWD, cases[i].path, &st);
        assert_int_equal(rc < 0 ? errno : 0, cases[i].error);
    }
}

static void what_is_there_is_found_and_what_is_not_is_told_as_the_kernel_tells_it(void **state)
{
    (void)state;
    look_at_all();
}

static void folders_that_may_be_passed_only_are_passed(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip_because("takes root");
    assert_int_equal(seteuid(NOBODY), 0);
    look_at_all();
    assert_int_equal(seteuid(0), 0);
}

static void below_a_folder_paths_are_its(void **state)
{
    int dir = open("a", O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd;
    struct stat st;

    (void)state;
    assert_true(dir >= 0);
    fd = nfs_lookup_open(dir, "b/file", O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(nfs_lookup_open(dir, "a/b/file", O_RDONLY | O_CLOEXEC), -1);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(nfs_lookup_stat(dir, "link", &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    close(dir);
}

static void descriptors_are_given_back(void **state)
{
    int before = dup(0), after;

    (void)state;
    close(before);
    for (int i = 0; i < 3; i++)
        assert_int_equal(nfs_lookup_open(AT_FDCWD, "a/b/none", O_RDONLY | O_CLOEXEC), -1);
    after = dup(0);
    close(after);
    assert_int_equal(after, before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_there_is_found_and_what_is_not_is_told_as_the_kernel_tells_it),
        cmocka_unit_test(folders_that_may_be_passed_only_are_passed),
        cmocka_unit_test(below_a_folder_paths_are_its),
        cmocka_unit_test(descriptors_are_given_back),
    };

    return cmocka_run_group_tests(tests, folder_begin, folder_end);
}
