/* SPDX-License-Identifier: MIT */
/* identity.c - who is who, and who may do what */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/base/identity.h"
#include "server/conn/permission.h"

enum { ALICE = 70001, BOB = 70002, NOBODY_HERE = 4000000 };

static const char *const admins[] = { "alice" };
static const char *const worker_users[] = { "ludwig" };

static struct conf conf_of(void)
{
    return (struct conf){ .admins = { (void *)(uintptr_t)admins, 1 },
                          .worker_users = { (void *)(uintptr_t)worker_users, 1 },
                          .min_uid = 1000 };
}

static void a_uid_has_a_name_or_a_number(void **state)
{
    char *root = identity_user_name(0);
    char *unknown = identity_user_name(NOBODY_HERE);

    (void)state;
    assert_string_equal(root, "root");
    assert_string_equal(unknown, "#4000000"); /* no user can be called that */
    free(root);
    free(unknown);
}

static void root_ludwigds_own_and_the_configured_are_admins(void **state)
{
    struct conf conf = conf_of();

    (void)state;
    assert_true(identity_is_admin(&conf, 0, "root"));
    assert_true(identity_is_admin(&conf, geteuid(), "whoever"));
    assert_true(identity_is_admin(&conf, ALICE, "alice"));
    assert_false(identity_is_admin(&conf, BOB, "bob"));
}

static void owners_and_admins_see_and_change_others_do_not(void **state)
{
    const struct conn owner = { .uid = BOB };
    const struct conn admin = { .uid = ALICE, .is_admin = true };
    const struct conn other = { .uid = ALICE };
    const struct owner bob = { BOB, "bob" };
    struct err e = { 0 };

    (void)state;
    assert_int_equal(may_see(&owner, &bob, 7, &e), 0);
    assert_int_equal(may_change(&owner, &bob, 7, &e), 0);
    assert_int_equal(may_see(&admin, &bob, 7, &e), 0);
    assert_int_equal(may_change(&admin, &bob, 7, &e), 0);
    assert_int_equal(may_see(&other, &bob, 7, &e), -1);
    assert_int_equal(e.kind, ERR_DENIED);
    assert_int_equal(may_change(&other, &bob, 7, &e), -1);
    assert_int_equal(e.kind, ERR_DENIED);
    assert_non_null(strstr(e.text, "sweep 7 belongs to bob"));
}

static void a_worker_gets_its_own_accounts_jobs_unless_it_is_trusted(void **state)
{
    const struct server sv = { .conf = conf_of() };
    char bob[] = "bob";
    char ludwig[] = "ludwig";
    char alice[] = "alice";
    const struct conn own = { .uid = BOB, .user = bob };
    const struct conn trusted = { .uid = NOBODY_HERE, .user = ludwig };
    const struct conn admin = { .uid = ALICE, .user = alice, .is_admin = true };
    const struct conn without_share = { .uid = NOBODY_HERE, .user = ludwig, .own_jobs_only = true };

    (void)state;
    assert_false(may_run(&sv, &without_share, BOB));
    assert_true(may_run(&sv, &without_share, NOBODY_HERE));
    assert_true(may_run(&sv, &own, BOB));
    assert_false(may_run(&sv, &own, ALICE));
    assert_true(may_run(&sv, &trusted, BOB));
    assert_false(may_run(&sv, &admin, BOB)); /* changing jobs is not running them */
}

static void uids_below_min_uid_may_not_submit_but_ludwigds_own(void **state)
{
    struct conf conf = conf_of();
    char name[] = "someone";
    const struct conn system = { .uid = geteuid() == 999 ? 998 : 999, .user = name };
    const struct conn person = { .uid = 1000, .user = name };
    const struct conn own = { .uid = geteuid(), .user = name };
    struct err e = { 0 };

    (void)state;
    assert_int_equal(may_submit(&conf, &system, &e), -1);
    assert_int_equal(e.kind, ERR_DENIED);
    assert_int_equal(may_submit(&conf, &person, &e), 0);
    assert_int_equal(may_submit(&conf, &own, &e), 0);
}

static void the_uid_that_stands_for_anybody_is_nobody(void **state)
{
    (void)state;
    assert_true(identity_is_known(ALICE));
    assert_true(identity_is_known(geteuid()));
    assert_int_equal(identity_is_known(65534), geteuid() == 65534);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_uid_has_a_name_or_a_number),
        cmocka_unit_test(root_ludwigds_own_and_the_configured_are_admins),
        cmocka_unit_test(owners_and_admins_see_and_change_others_do_not),
        cmocka_unit_test(a_worker_gets_its_own_accounts_jobs_unless_it_is_trusted),
        cmocka_unit_test(uids_below_min_uid_may_not_submit_but_ludwigds_own),
        cmocka_unit_test(the_uid_that_stands_for_anybody_is_nobody),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
