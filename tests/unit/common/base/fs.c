/* SPDX-License-Identifier: MIT */
/* fs.c - tests of what file systems are known to be */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/base/fs.h"

static void network_and_memory_are_told_from_disks(void **state)
{
    static const struct {
        uint32_t magic;
        enum fs_kind kind;
        bool keeps_owners;
    } cases[] = {
        { 0xEF53, FS_LOCAL, true },        /* ext4 */
        { 0x58465342, FS_LOCAL, true },    /* xfs */
        { 0x794c7630, FS_LOCAL, true },    /* overlay */
        { 0x4d44, FS_LOCAL, false },       /* vfat */
        { 0x6969, FS_NETWORK, true },      /* nfs */
        { 0xFF534D42, FS_NETWORK, false }, /* cifs */
        { 0x65735546, FS_NETWORK, false }, /* fuse */
        { 0x01021994, FS_MEMORY, true },   /* tmpfs */
        { 0x858458F6, FS_MEMORY, true },   /* ramfs */
        { 0x12345678, FS_UNKNOWN, false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fs_type type = fs_type_of_magic(cases[i].magic);

        assert_int_equal(type.kind, cases[i].kind);
        assert_int_equal(type.keeps_owners, cases[i].keeps_owners);
    }
}

static void what_cannot_be_asked_is_taken_for_a_network(void **state)
{
    (void)state;
    assert_true(fs_is_network("/nowhere/at/all"));
    assert_false(fs_type_of_fd(-1).keeps_owners);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(network_and_memory_are_told_from_disks),
        cmocka_unit_test(what_cannot_be_asked_is_taken_for_a_network),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
