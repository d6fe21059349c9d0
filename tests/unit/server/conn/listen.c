/* SPDX-License-Identifier: MIT */
/* listen.c - state folder, share and sockets: made, checked, kept from others */
#include "tests/unit/server_fixture.h"

#include <pthread.h>
#include <sys/un.h>

#include "server/conn/listen.h"
#include "server/conn/user_names.h"
#include "server/share/server_dirs.h"
#include "tests/unit/skip.h"

static char *below(const struct fixture *f, const char *name)
{
    return mem_printf("%s/%s", f->dir, name);
}

static mode_t mode_of(const char *path)
{
    struct stat st;

    assert_int_equal(lstat(path, &st), 0);
    return st.st_mode;
}

static int connect_to(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    memcpy(address.sun_path, path, strlen(path) + 1);
    if (connect(fd, (const struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    close(fd);
    return -1;
}

static void whoever_connects_to_the_socket_is_greeted(void **state)
{
    struct fixture *f = fixture_open();
    char *path = below(f, "run/server.sock");
    struct peer p = { .f = f };

    (void)state;
    assert_int_equal(server_dirs_socket_dir(&f->sv, path, NULL), 0);
    assert_int_equal(listen_on(&f->sv, path, NULL, NULL), 0);
    assert_int_equal(mode_of(path) & 0777, 0666);
    wire_init(&p.wire, connect_to(path), &proto);
    peer_hello(&p, "ludwig");
    wire_close(&p.wire);
    fixture_settle(f);
    assert_int_equal(conn_count(&f->sv), 0);
    free(path);
    fixture_close(f);
}

static void whose_uid_is_known_otherwise_is_taken_for_that_user(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = peer_connect_as(f, 4000000);
    struct msg_hello hello = { .version = PROTO_VERSION, .program = "ludwig" };
    struct msg_welcome welcome;

    (void)state;
    peer_ask(p, MSG_HELLO, &hello, &welcome);
    assert_int_equal(welcome.uid, 4000000);
    assert_string_equal(welcome.user, "user4000000");
    assert_false(welcome.admin);
    peer_close(p);
    fixture_close(f);
}

/* A name service that does not answer for one. */
enum { HANGS = 70001 };
static pthread_mutex_t service = PTHREAD_MUTEX_INITIALIZER;

static char *find_slowly(uid_t uid)
{
    if (uid == HANGS) {
        pthread_mutex_lock(&service);
        pthread_mutex_unlock(&service);
    }
    return mem_printf("user%u", uid);
}

static void connect_unnamed(struct fixture *f, struct peer *p, uid_t uid)
{
    int fds[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    assert_int_equal(io_set_nonblocking(fds[0], NULL), 0);
    *p = (struct peer){ .f = f, .conn = conn_add_as(&f->sv, fds[0], uid, NULL) };
    wire_init(&p->wire, fds[1], &proto);
}

static void a_name_that_does_not_come_holds_up_its_user_alone(void **state)
{
    const struct user_names_how how = { find_slowly, 60 * 1000, 0 };
    const struct msg_hello hello = { .version = PROTO_VERSION, .program = "ludwig" };
    struct fixture *f = fixture_open();
    struct peer one, other;
    struct msg_welcome welcome;

    (void)state;
    user_names_destroy(f->sv.names);
    f->sv.names = user_names_create(&f->sv, &how, conns_named);
    pthread_mutex_lock(&service);
    connect_unnamed(f, &one, HANGS);
    connect_unnamed(f, &other, HANGS + 1);
    (void)peer_send(&one, MSG_HELLO, &hello);
    peer_ask(&other, MSG_HELLO, &hello, &welcome);
    assert_string_equal(welcome.user, "user70002");
    fixture_settle(f);
    assert_null(one.conn->user);
    pthread_mutex_unlock(&service);
    peer_expect(&one, MSG_WELCOME, &welcome);
    assert_string_equal(welcome.user, "user70001");
    wire_close(&one.wire);
    wire_close(&other.wire);
    fixture_close(f);
}

static void whom_the_kernel_cannot_name_is_turned_away(void **state)
{
    struct fixture *f = fixture_open();
    const uid_t overflow = 65534;
    struct peer *p = peer_connect_as(f, overflow);
    struct msg_error why;

    (void)state;
    if (geteuid() == overflow)
        skip_because("takes a user who is not the overflow one");
    assert_null(p->conn);
    peer_expect(p, MSG_ERROR, &why);
    assert_int_equal(why.kind, ERR_DENIED);
    assert_non_null(strstr(why.text, "cannot say who you are"));
    peer_close(p);
    fixture_close(f);
}

static void a_socket_that_a_killed_ludwigd_left_is_replaced(void **state)
{
    struct fixture *f = fixture_open();
    char *path = below(f, "s.sock");
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)state;
    memcpy(address.sun_path, path, strlen(path) + 1);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
    close(fd);
    assert_int_equal(connect_to(path), -1);
    assert_int_equal(listen_on(&f->sv, path, NULL, NULL), 0);
    fd = connect_to(path);
    assert_true(fd >= 0);
    close(fd);
    free(path);
    fixture_close(f);
}

static void a_socket_on_which_somebody_answers_is_left_alone(void **state)
{
    struct fixture *f = fixture_open();
    char *path = below(f, "s.sock");
    struct err e = { 0 };

    (void)state;
    assert_int_equal(listen_on(&f->sv, path, NULL, NULL), 0);
    assert_int_equal(listen_on(&f->sv, path, NULL, &e), -1);
    assert_int_equal(e.kind, ERR_BUSY);
    assert_non_null(strstr(e.text, "somebody answers"));
    assert_true(S_ISSOCK(mode_of(path)));
    free(path);
    fixture_close(f);
}

static void what_is_no_socket_is_not_replaced(void **state)
{
    struct fixture *f = fixture_open();
    char *path = below(f, "s.sock");
    struct err e = { 0 };

    (void)state;
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(listen_on(&f->sv, path, NULL, &e), -1);
    assert_int_equal(e.kind, ERR_EXISTS);
    free(path);
    fixture_close(f);
}

static void a_group_that_is_not_there_and_a_path_too_long_are_refused(void **state)
{
    struct fixture *f = fixture_open();
    char *path = below(f, "s.sock");
    char deep[200];
    struct err e = { 0 };

    (void)state;
    assert_int_equal(listen_on(&f->sv, path, "no such group", &e), -1);
    assert_non_null(strstr(e.text, "no group 'no such group'"));
    assert_int_equal(access(path, F_OK), -1);
    memset(deep, 'x', sizeof deep - 1);
    deep[0] = '/';
    deep[sizeof deep - 1] = '\0';
    assert_int_equal(listen_on(&f->sv, deep, NULL, &e), -1);
    assert_non_null(strstr(e.text, "longer than 107 bytes"));
    free(path);
    fixture_close(f);
}

static void sockets_are_gone_afterwards(void **state)
{
    struct fixture *f = fixture_open();
    char *path = below(f, "s.sock");

    (void)state;
    assert_int_equal(listen_on(&f->sv, path, NULL, NULL), 0);
    server_leave(&f->sv, "test");
    server_run(&f->sv);
    assert_int_equal(access(path, F_OK), -1);
    free(path);
    fixture_close(f);
}

static void the_share_says_whose_it_is(void **state)
{
    struct fixture *f = fixture_open();
    char *path = below(f, "share/.ludwig/id");
    char *dir = below(f, "share/.ludwig");
    struct buf text = { 0 };

    (void)state;
    assert_int_equal(io_read_file(path, 4096, &text, NULL), 0);
    assert_non_null(strstr(buf_text(&text), f->sv.server_id));
    assert_int_equal(mode_of(path) & 0777, 0644);
    assert_int_equal(mode_of(dir) & 0777, 0755);
    buf_free(&text);
    free(path);
    free(dir);
    fixture_close(f);
}

static void the_servers_id_is_made_once(void **state)
{
    struct fixture *f = fixture_open();
    char *id = mem_strdup(f->sv.server_id);

    (void)state;
    server_close(&f->sv);
    fixture_start(f);
    assert_string_equal(f->sv.server_id, id);
    free(id);
    fixture_close(f);
}

static void the_state_folder_is_ours_alone(void **state)
{
    struct fixture *f = fixture_open();
    char *path = below(f, "state");
    char *other = below(f, "open");
    struct err e = { 0 };

    (void)state;
    assert_int_equal(mode_of(path) & 07777, 0700);
    assert_int_equal(mkdir(other, 0700), 0);
    assert_int_equal(chmod(other, 0750), 0);
    assert_int_equal(server_dirs_state(other, &e), -1);
    assert_int_equal(e.kind, ERR_DENIED);
    assert_non_null(strstr(e.text, "chmod 700"));
    free(path);
    free(other);
    fixture_close(f);
}

static void a_second_ludwigd_is_told_who_the_first_is(void **state)
{
    struct fixture *f = fixture_open();
    struct server second = { 0 };
    struct err e = { 0 };
    char *says = mem_printf("another ludwigd (pid %ld) uses %s", (long)getpid(), f->sv.conf.state);

    (void)state;
    second.conf.arena = arena_create();
    second.conf.share = arena_strdup(second.conf.arena, f->sv.conf.share);
    second.conf.state = arena_strdup(second.conf.arena, f->sv.conf.state);
    assert_int_equal(server_open(&second, &e), -1);
    assert_int_equal(e.kind, ERR_BUSY);
    assert_string_equal(e.text, says);
    free(says);
    fixture_close(f);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(whoever_connects_to_the_socket_is_greeted),
        cmocka_unit_test(whose_uid_is_known_otherwise_is_taken_for_that_user),
        cmocka_unit_test(a_name_that_does_not_come_holds_up_its_user_alone),
        cmocka_unit_test(whom_the_kernel_cannot_name_is_turned_away),
        cmocka_unit_test(a_socket_that_a_killed_ludwigd_left_is_replaced),
        cmocka_unit_test(a_socket_on_which_somebody_answers_is_left_alone),
        cmocka_unit_test(what_is_no_socket_is_not_replaced),
        cmocka_unit_test(a_group_that_is_not_there_and_a_path_too_long_are_refused),
        cmocka_unit_test(sockets_are_gone_afterwards),
        cmocka_unit_test(the_share_says_whose_it_is),
        cmocka_unit_test(the_servers_id_is_made_once),
        cmocka_unit_test(the_state_folder_is_ours_alone),
        cmocka_unit_test(a_second_ludwigd_is_told_who_the_first_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
