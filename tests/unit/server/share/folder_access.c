/* SPDX-License-Identifier: MIT */
/* folder_access.c - tests that an access control list counts as it does for the kernel */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "server/share/folder_access.h"
#include "tests/unit/skip.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

enum { ALICE = 70001, BOB = 70002, CARL = 70003, LAB = 70100, CLUB = 70200, NO_ID = -1 };
enum { OWNER = 0x01, USER = 0x02, GROUP_OWNER = 0x04, GROUP = 0x08, MASK = 0x10, OTHER = 0x20 };

struct entry {
    unsigned tag, bits;
    int id;
};

/* Lists of ALICE's folder, whose group is LAB.  An entry without a tag ends a list. */
static const struct entry lists[][8] = {
    /* The mode shows r-x for the group, which the list denies. */
    { { OWNER, 7, NO_ID },
      { USER, 5, CARL },
      { GROUP_OWNER, 0, NO_ID },
      { MASK, 5, NO_ID },
      { OTHER, 0, NO_ID } },
    { { OWNER, 7, NO_ID },
      { USER, 0, BOB },
      { GROUP_OWNER, 5, NO_ID },
      { MASK, 5, NO_ID },
      { OTHER, 5, NO_ID } },
    { { OWNER, 7, NO_ID },
      { USER, 7, BOB },
      { GROUP_OWNER, 7, NO_ID },
      { MASK, 1, NO_ID },
      { OTHER, 5, NO_ID } },
    { { OWNER, 7, NO_ID },
      { GROUP_OWNER, 0, NO_ID },
      { GROUP, 5, CLUB },
      { MASK, 7, NO_ID },
      { OTHER, 5, NO_ID } },
    { { OWNER, 7, NO_ID },
      { GROUP_OWNER, 4, NO_ID },
      { GROUP, 1, CLUB },
      { MASK, 7, NO_ID },
      { OTHER, 0, NO_ID } },
    { { OWNER, 0, NO_ID },
      { USER, 5, ALICE },
      { GROUP_OWNER, 5, NO_ID },
      { MASK, 5, NO_ID },
      { OTHER, 5, NO_ID } },
};

static size_t write_list(const struct entry *entries, uint8_t *list)
{
    uint8_t *at = list;

    memcpy(at, "\2\0\0\0", 4);
    at += 4;
    for (const struct entry *x = entries; x->tag != 0; x++) {
        *at++ = (uint8_t)x->tag;
        *at++ = 0;
        *at++ = (uint8_t)x->bits;
        *at++ = 0;
        for (int i = 0; i < 4; i++)
            *at++ = (uint8_t)((unsigned)x->id >> 8 * i);
    }
    return (size_t)(at - list);
}

/* What the kernel says, in a process with these ids. */
static bool kernel_allows(const char *path, uid_t uid, const struct groups *groups, mode_t bits)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        if (setgroups(groups->n, groups->items) < 0 || setgid(groups->items[0]) < 0 ||
            setuid(uid) < 0)
            _exit(2);
        _exit(access(path, (int)bits) == 0 ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
    return WEXITSTATUS(status) == 0;
}

static void it_says_what_the_kernel_says(void **state)
{
    gid_t own[] = { 80000 }, lab[] = { 80000, LAB }, club[] = { CLUB, 80000 },
          both[] = { LAB, CLUB };
    const struct groups groups[] = { { own, 1 }, { lab, 2 }, { club, 2 }, { both, 2 } };
    const uid_t uids[] = { ALICE, BOB, CARL };
    char path[] = "/tmp/ludwig-acl-XXXXXX";
    uint8_t list[256];
    struct stat st;

    (void)state;
    if (geteuid() != 0)
        skip_because("takes root");
    assert_non_null(mkdtemp(path));
    assert_int_equal(chown(path, ALICE, LAB), 0);
    for (size_t i = 0; i <= LENGTH(lists); i++) {
        size_t n = i < LENGTH(lists) ? write_list(lists[i], list) : 0;

        if (n > 0 && setxattr(path, "system.posix_acl_access", list, n, 0) < 0) {
            assert_int_equal(errno, ENOTSUP);
            (void)rmdir(path);
            skip_because("/tmp has no access control lists");
        }
        if (n == 0) { /* and with none */
            assert_int_equal(removexattr(path, "system.posix_acl_access"), 0);
            assert_int_equal(chmod(path, 0741), 0);
        }
        assert_int_equal(stat(path, &st), 0);
        for (size_t u = 0; u < LENGTH(uids); u++)
            for (size_t g = 0; g < LENGTH(groups); g++)
                for (mode_t bits = 1; bits <= 7; bits++)
                    if (folder_access(path, &st, uids[u], &groups[g], bits) !=
                        kernel_allows(path, uids[u], &groups[g], bits))
                        fail_msg("list %zu, uid %u, groups %zu, bits %u", i, uids[u], g, bits);
    }
    assert_int_equal(rmdir(path), 0);
}

static void a_list_that_is_no_list_allows_nothing(void **state)
{
    gid_t own[] = { 80000 };
    const struct groups groups = { own, 1 };
    const struct stat st = { .st_uid = ALICE, .st_gid = LAB, .st_mode = S_IFDIR | 0777 };
    uint8_t list[256];
    size_t n = write_list(lists[5], list);

    (void)state;
    assert_true(folder_access_by_list(list, n, &st, BOB, &groups, 5));
    assert_false(folder_access_by_list(list, n - 1, &st, BOB, &groups, 5));
    assert_false(folder_access_by_list(list, 3, &st, BOB, &groups, 5));
    assert_false(folder_access_by_list(list, 0, &st, BOB, &groups, 5));
    list[0] = 3;
    assert_false(folder_access_by_list(list, n, &st, BOB, &groups, 5));
    assert_true(folder_access_by_list(list, n, &st, ALICE, &groups, 5));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_says_what_the_kernel_says),
        cmocka_unit_test(a_list_that_is_no_list_allows_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
