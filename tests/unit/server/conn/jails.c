/* SPDX-License-Identifier: MIT */
/* jails.c - a socket for every user who has a folder, and only there where it is safe */
#include "tests/unit/server_fixture.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/resource.h>
#include <sys/un.h>

#include "server/base/identity.h"
#include "server/conn/jails.h"
#include "tests/unit/skip.h"

enum {
    SETTLE_MS = 300,  /* what has changed has been looked at by then */
    HEARD_MS = 25000, /* and long before that which is looked at every 30 s */
};

struct site {
    struct fixture *f;
    char *jails;
    char *user; /* who runs the test */
};

static char *jail_path(const struct site *s, const char *user, const char *below)
{
    return mem_printf("%s/%s%s", s->jails, user, below);
}

static void make_jail(const struct site *s, const char *user)
{
    char *path = jail_path(s, user, "");

    assert_int_equal(mkdir(path, 0755), 0);
    free(path);
}

static struct site site_open(void)
{
    struct site s = { 0 };

    if (getpwuid(geteuid()) == NULL)
        skip_because("takes a user who has a name");
    s.f = fixture_open();
    s.user = identity_user_name(geteuid());
    s.jails = mem_printf("%s/jails", s.f->dir);
    assert_int_equal(mkdir(s.jails, 0755), 0);
    return s;
}

static int follow(const struct site *s, struct err *e)
{
    char *pattern = mem_printf("%s/%%u/a/ludwig/server.sock", s->jails);
    int rc = jails_follow(&s->f->sv, pattern, e);

    free(pattern);
    return rc;
}

static void site_close(struct site *s)
{
    fixture_close(s->f);
    free(s->jails);
    free(s->user);
}

static int connect_to(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(strlen(path) < sizeof address.sun_path);
    memcpy(address.sun_path, path, strlen(path) + 1);
    if (connect(fd, (const struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    close(fd);
    return -1;
}

static bool is_there(const struct site *s, const char *user)
{
    char *path = jail_path(s, user, "/a/ludwig/server.sock");
    bool is = access(path, F_OK) == 0;

    free(path);
    return is;
}

/* Lets the loop run until it is so. */
static void wait_for(const struct site *s, const char *user, bool there)
{
    int64_t until_ms = units_monotonic_ms() + HEARD_MS;

    while (is_there(s, user) != there) {
        assert_true(units_monotonic_ms() < until_ms);
        uv_run(&s->f->sv.loop, UV_RUN_ONCE);
    }
}

/* Long enough for what has changed to be looked at. */
static void let_settle(const struct site *s)
{
    int64_t until_ms = units_monotonic_ms() + SETTLE_MS;

    while (units_monotonic_ms() < until_ms) {
        fixture_turn(s->f);
        usleep(5000);
    }
}

static void say_hello(const struct site *s, const char *user)
{
    char *path = jail_path(s, user, "/a/ludwig/server.sock");
    struct peer p = { .f = s->f };

    wire_init(&p.wire, connect_to(path), &proto);
    peer_hello(&p, "ludwig");
    wire_close(&p.wire);
    fixture_settle(s->f);
    free(path);
}

static void a_user_who_has_a_folder_gets_a_socket(void **state)
{
    struct site s = site_open();
    char *path;
    struct stat st;

    (void)state;
    make_jail(&s, s.user);
    make_jail(&s, "no-such-user-here");
    assert_int_equal(follow(&s, NULL), 0);
    wait_for(&s, s.user, true);
    assert_false(is_there(&s, "no-such-user-here"));
    say_hello(&s, s.user);
    path = jail_path(&s, s.user, "/a/ludwig");
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0755);
    free(path);
    site_close(&s);
}

static void users_are_followed_as_they_come_and_go(void **state)
{
    struct site s = site_open();
    char *path, *away;
    int64_t until_ms;

    (void)state;
    assert_int_equal(follow(&s, NULL), 0);
    make_jail(&s, s.user);
    wait_for(&s, s.user, true);
    say_hello(&s, s.user);
    path = jail_path(&s, s.user, "");
    away = mem_printf("%s/away", s.f->dir);
    assert_int_equal(rename(path, away), 0);
    free(path);
    path = mem_printf("%s/a/ludwig/server.sock", away);
    until_ms = units_monotonic_ms() + HEARD_MS;
    while (access(path, F_OK) == 0 && units_monotonic_ms() < until_ms)
        uv_run(&s.f->sv.loop, UV_RUN_ONCE);
    assert_int_equal(access(path, F_OK), -1); /* it went with the jail */
    make_jail(&s, s.user);
    wait_for(&s, s.user, true);
    say_hello(&s, s.user);
    free(path);
    free(away);
    site_close(&s);
}

/* All that may be open is: the folder of the jails can be opened no more. */
struct hoard {
    int *fds;
    size_t n, capacity;
    struct rlimit was;
};

static void hoard_all(struct hoard *h)
{
    int fd;

    while ((fd = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0) {
        mem_grow((void **)&h->fds, &h->capacity, h->n, sizeof *h->fds);
        h->fds[h->n++] = fd;
    }
    assert_int_equal(errno, EMFILE);
}

static void hoard_begin(struct hoard *h)
{
    struct rlimit few;

    *h = (struct hoard){ .n = 0 };
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &h->was), 0);
    few = h->was;
    few.rlim_cur = 200;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    hoard_all(h);
}

static void hoard_end(struct hoard *h)
{
    while (h->n > 0)
        close(h->fds[--h->n]);
    free(h->fds);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &h->was), 0);
}

/* Something happens in the folder of the jails, or in one of them. */
static void stir(const struct site *s, const char *user, const char *below)
{
    char *path = jail_path(s, user, below);

    assert_int_equal(mkdir(path, 0755), 0);
    assert_int_equal(rmdir(path), 0);
    free(path);
}

/* As let_settle.  What a thread of the loop's pool closes late is taken as well. */
static void let_settle_without(const struct site *s, struct hoard *h)
{
    int64_t until_ms = units_monotonic_ms() + SETTLE_MS;

    while (units_monotonic_ms() < until_ms) {
        hoard_all(h);
        fixture_turn(s->f);
        usleep(5000);
    }
}

static void sockets_stay_while_folders_cannot_be_opened(void **state)
{
    struct site s = site_open();
    struct hoard hoard;
    char *socket;

    (void)state;
    make_jail(&s, s.user);
    socket = jail_path(&s, s.user, "/a/ludwig/server.sock");
    assert_int_equal(follow(&s, NULL), 0);
    wait_for(&s, s.user, true);
    hoard_begin(&hoard);
    stir(&s, "nobody-here", "");
    stir(&s, s.user, "/a/ludwig/x");
    let_settle_without(&s, &hoard);
    assert_true(is_there(&s, s.user));
    assert_int_equal(unlink(socket), 0);
    let_settle_without(&s, &hoard);
    assert_false(is_there(&s, s.user));
    hoard_end(&hoard);
    wait_for(&s, s.user, true); /* without anything that happens there */
    say_hello(&s, s.user);
    free(socket);
    site_close(&s);
}

static void what_is_taken_away_in_a_jail_comes_back(void **state)
{
    struct site s = site_open();
    char *socket = jail_path(&s, "", ""), *folder;

    (void)state;
    free(socket);
    make_jail(&s, s.user);
    assert_int_equal(follow(&s, NULL), 0);
    wait_for(&s, s.user, true);
    socket = jail_path(&s, s.user, "/a/ludwig/server.sock");
    folder = jail_path(&s, s.user, "/a/ludwig");
    assert_int_equal(unlink(socket), 0);
    wait_for(&s, s.user, true);
    say_hello(&s, s.user);
    assert_int_equal(unlink(socket), 0);
    assert_int_equal(rmdir(folder), 0);
    wait_for(&s, s.user, true);
    say_hello(&s, s.user);
    free(socket);
    free(folder);
    site_close(&s);
}

static void a_jail_that_others_could_change_is_not_entered(void **state)
{
    struct site s = site_open();
    char *path = jail_path(&s, s.user, "");

    (void)state;
    make_jail(&s, s.user);
    assert_int_equal(chmod(path, 0775), 0);
    assert_int_equal(follow(&s, NULL), 0);
    let_settle(&s);
    assert_false(is_there(&s, s.user));
    assert_int_equal(chmod(path, 0755), 0); /* which is noticed */
    wait_for(&s, s.user, true);
    assert_int_equal(chmod(path, 0777), 0);
    wait_for(&s, s.user, false);
    free(path);
    site_close(&s);
}

static void a_jail_of_the_users_own_is_not_entered(void **state)
{
    struct site s = site_open();
    struct passwd *daemon = getpwnam("daemon");
    char *path = jail_path(&s, "daemon", "");

    (void)state;
    if (geteuid() != 0 || daemon == NULL)
        skip_because("takes root and the user daemon");
    make_jail(&s, "daemon");
    assert_int_equal(chown(path, daemon->pw_uid, daemon->pw_gid), 0);
    assert_int_equal(follow(&s, NULL), 0);
    let_settle(&s);
    assert_false(is_there(&s, "daemon"));
    assert_int_equal(chown(path, 0, 0), 0);
    wait_for(&s, "daemon", true);
    free(path);
    path = jail_path(&s, "daemon", "/a");
    assert_int_equal(chown(path, daemon->pw_uid, daemon->pw_gid), 0);
    free(path);
    path = jail_path(&s, "daemon", "/a/ludwig/server.sock");
    assert_int_equal(unlink(path), 0);
    let_settle(&s);
    assert_false(is_there(&s, "daemon"));
    free(path);
    site_close(&s);
}

static void links_are_not_followed(void **state)
{
    struct site s = site_open();
    char *target = mem_printf("%s/target", s.f->dir), *path = jail_path(&s, s.user, "");

    (void)state;
    assert_int_equal(mkdir(target, 0755), 0);
    assert_int_equal(symlink(target, path), 0);
    assert_int_equal(follow(&s, NULL), 0);
    let_settle(&s);
    assert_int_equal(unlink(path), 0);
    make_jail(&s, s.user);
    free(path);
    path = jail_path(&s, s.user, "/a");
    assert_int_equal(symlink(target, path), 0);
    let_settle(&s);
    assert_int_equal(rmdir(target), 0); /* nothing was made in it */
    free(target);
    free(path);
    site_close(&s);
}

static void a_jails_socket_serves_its_user_alone(void **state)
{
    struct site s = site_open();
    char *path = jail_path(&s, "daemon", "/a/ludwig/server.sock");
    struct peer p = { .f = s.f };
    struct msg_error why;

    (void)state;
    if (getpwnam("daemon") == NULL || strcmp(s.user, "daemon") == 0)
        skip_because("takes the user daemon, and another one");
    make_jail(&s, "daemon");
    assert_int_equal(follow(&s, NULL), 0);
    wait_for(&s, "daemon", true);
    wire_init(&p.wire, connect_to(path), &proto);
    peer_expect(&p, MSG_ERROR, &why);
    assert_int_equal(why.kind, ERR_DENIED);
    assert_string_equal(why.text, "this socket is for daemon alone");
    assert_int_equal(conn_count(&s.f->sv), 0);
    wire_close(&p.wire);
    free(path);
    site_close(&s);
}

static void users_whose_jobs_are_not_taken_get_none(void **state)
{
    struct site s = site_open();

    (void)state;
    if (strcmp(s.user, "daemon") == 0)
        skip_because("takes another user than daemon");
    s.f->sv.conf.min_uid = 1000;
    make_jail(&s, "daemon");
    make_jail(&s, s.user);
    assert_int_equal(follow(&s, NULL), 0);
    wait_for(&s, s.user, true);
    assert_false(is_there(&s, "daemon"));
    assert_true(is_there(&s, s.user)); /* ludwigd's own may always */
    site_close(&s);
}

static void sockets_are_gone_with_ludwigd(void **state)
{
    struct site s = site_open();

    (void)state;
    make_jail(&s, s.user);
    assert_int_equal(follow(&s, NULL), 0);
    wait_for(&s, s.user, true);
    server_leave(&s.f->sv, "test");
    server_run(&s.f->sv);
    assert_false(is_there(&s, s.user));
    site_close(&s);
}

static void the_folder_of_the_jails_must_be_there_and_safe(void **state)
{
    struct site s = site_open();
    struct err e = { 0 };

    (void)state;
    assert_int_equal(chmod(s.jails, 0777), 0);
    assert_int_equal(follow(&s, &e), -1);
    assert_non_null(strstr(e.text, "others may write into"));
    assert_int_equal(rmdir(s.jails), 0);
    assert_int_equal(follow(&s, &e), -1);
    assert_int_equal(e.kind, ERR_NOT_FOUND);
    site_close(&s);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_user_who_has_a_folder_gets_a_socket),
        cmocka_unit_test(users_are_followed_as_they_come_and_go),
        cmocka_unit_test(sockets_stay_while_folders_cannot_be_opened),
        cmocka_unit_test(what_is_taken_away_in_a_jail_comes_back),
        cmocka_unit_test(a_jail_that_others_could_change_is_not_entered),
        cmocka_unit_test(a_jail_of_the_users_own_is_not_entered),
        cmocka_unit_test(links_are_not_followed),
        cmocka_unit_test(a_jails_socket_serves_its_user_alone),
        cmocka_unit_test(users_whose_jobs_are_not_taken_get_none),
        cmocka_unit_test(sockets_are_gone_with_ludwigd),
        cmocka_unit_test(the_folder_of_the_jails_must_be_there_and_safe),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
