/* SPDX-License-Identifier: MIT */
/* project.c - folders of projects: whose they are, how they are made, who may look */
#include "tests/unit/server_fixture.h"

#include <semaphore.h>
#include <sys/syscall.h>

#include "server/conn/conn.h"
#include "server/share/project.h"
#include "tests/unit/skip.h"

enum { ALICE = 70001, BOB = 70002, LAB = 70100 };

/* What somebody does right after ludwigd has made the folder of project demo, on its thread. */
static void (*exchange)(int dir_fd, const char *name);

/* In the place of libc's. */
int mkdirat(int fd, const char *path, mode_t mode)
{
    int rc = (int)syscall(SYS_mkdirat, fd, path, mode);

    if (rc == 0 && exchange != NULL && strcmp(path, "demo") == 0)
        exchange(fd, path);
    return rc;
}

/* Told of each look at it; NULL: nobody is. */
static sem_t *looks;

/* In the place of libc's. */
int fstatat(int fd, const char *restrict file, struct stat *restrict buf, int flag)
{
    int rc = (int)syscall(SYS_newfstatat, fd, file, buf, flag);

    if (looks != NULL && strcmp(file, "demo") == 0 && sem_post(looks) < 0)
        abort();
    return rc;
}

static char *project_path(const struct fixture *f, const char *name)
{
    return mem_printf("%s/share/%s", f->dir, name);
}

static struct stat stat_of(const struct fixture *f, const char *name)
{
    char *path = project_path(f, name);
    struct stat st;

    assert_int_equal(lstat(path, &st), 0);
    free(path);
    return st;
}

static void make(const struct fixture *f, const char *name, mode_t mode, uid_t uid, gid_t gid)
{
    char *path = project_path(f, name);

    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(chown(path, uid, gid), 0);
    assert_int_equal(chmod(path, mode), 0);
    free(path);
}

static void only_as_root(void)
{
    if (geteuid() != 0)
        skip_because("takes root");
}

static struct folder_order open_project(struct peer *p, const char *name, bool is_private)
{
    struct msg_open_project request = { .project = name, .private_project = is_private };
    struct msg_project_open answer;

    peer_ask(p, MSG_OPEN_PROJECT, &request, &answer);
    return answer.folder;
}

static const char *refusal(struct peer *p, const char *name, bool is_private, enum err_kind kind)
{
    struct msg_open_project request = { .project = name, .private_project = is_private };

    return peer_refused(p, MSG_OPEN_PROJECT, &request, kind);
}

/* Of a submit to this very project. */
static const char *refusal_of_submit(struct peer *p, const char *name)
{
    struct submit s = submit_of(name, 1);

    return peer_refused(p, MSG_SUBMIT_BEGIN, &s.begin, ERR_DENIED);
}

static void ones_own_ludwigd_makes_a_folder_for_its_user_or_for_a_group(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);

    (void)state;
    assert_int_equal(open_project(p, "open", false).mode, 0);
    assert_int_equal(stat_of(f, "open").st_mode, S_IFDIR | 0700);
    assert_int_equal(open_project(p, "own", true).mode, 0);
    assert_int_equal(stat_of(f, "own").st_mode, S_IFDIR | 0700);
    f->sv.share_gid = getegid();
    open_project(p, "group", false);
    assert_int_equal(stat_of(f, "group").st_mode, S_IFDIR | 02750);
    assert_int_equal(open_project(p, "group", false).mode, 0); /* may be asked again */
    peer_close(p);
    fixture_close(f);
}

static void what_will_be_refused_makes_no_folder(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct submit s = submit_of("demo", 1);
    const struct msg_open_project request = { .project = "demo", .begins = { &s.begin, 1 } };
    struct msg_project_open answer;
    char *path = project_path(f, "demo");

    (void)state;
    s.begin.work.command = "";
    assert_non_null(strstr(peer_refused(p, MSG_OPEN_PROJECT, &request, ERR_USAGE), "command"));
    assert_int_equal(access(path, F_OK), -1);
    s.begin.work.command = "true";
    peer_ask(p, MSG_OPEN_PROJECT, &request, &answer);
    assert_int_equal(access(path, F_OK), 0);
    free(path);
    peer_close(p);
    fixture_close(f);
}

static void root_makes_it_and_gives_it_away(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = stranger_connect(f, ALICE);
    struct stat st;

    (void)state;
    f->sv.share_gid = LAB;
    if (geteuid() == 0) {
        assert_int_equal(open_project(p, "demo", false).mode, 0);
        st = stat_of(f, "demo");
        assert_int_equal(st.st_uid, ALICE);
        assert_int_equal(st.st_gid, LAB);
        assert_int_equal(st.st_mode, S_IFDIR | 02750);
        open_project(p, "own", true);
        st = stat_of(f, "own");
        assert_int_equal(st.st_uid, ALICE);
        assert_int_equal(st.st_mode, S_IFDIR | 0700);
    } else {
        assert_int_equal(open_project(p, "demo", false).mode, 02770);
        assert_int_equal(open_project(p, "demo", false).group, LAB);
        assert_int_equal(open_project(p, "demo", true).mode, 0700);
    }
    peer_close(p);
    fixture_close(f);
}

/* As a ludwigd leaves it that is killed right after mkdir. */
static void what_was_begun_is_finished(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = geteuid() == 0 ? stranger_connect(f, ALICE) : client_connect(f);
    uid_t owner = geteuid() == 0 ? ALICE : geteuid();

    (void)state;
    f->sv.share_gid = geteuid() == 0 ? LAB : getegid();
    make(f, "demo", 01700, geteuid(), getegid());
    make(f, "own", 03700, geteuid(), getegid());
    open_project(p, "demo", false);
    assert_int_equal(stat_of(f, "demo").st_uid, owner);
    assert_int_equal(stat_of(f, "demo").st_mode, S_IFDIR | 02750);
    open_project(p, "own", true);
    assert_int_equal(stat_of(f, "own").st_mode, S_IFDIR | 0700);
    peer_close(p);
    fixture_close(f);
}

static void what_others_made_is_not_finished(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = stranger_connect(f, ALICE);

    (void)state;
    only_as_root();
    f->sv.share_gid = LAB;
    make(f, "demo", 0700, 0, 0);
    assert_non_null(strstr(refusal_of_submit(p, "demo"), "belongs to"));
    make(f, "full", 01700, 0, 0);
    make(f, "full/inside", 0755, 0, 0);
    assert_non_null(strstr(refusal_of_submit(p, "full"), "belongs to"));
    assert_int_equal(stat_of(f, "demo").st_uid, 0);
    assert_int_equal(stat_of(f, "full").st_uid, 0);
    peer_close(p);
    fixture_close(f);
}

static void what_has_something_in_it_is_not_finished(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);

    (void)state;
    make(f, "demo", 01700, geteuid(), getegid());
    make(f, "demo/inside", 0755, geteuid(), getegid());
    open_project(p, "demo", false);
    assert_int_equal(stat_of(f, "demo").st_mode, S_IFDIR | 01700);
    peer_close(p);
    fixture_close(f);
}

static void nobody_is_given_a_folder_whose_group_is_not_known(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = stranger_connect(f, ALICE);
    char *path = project_path(f, "demo");

    (void)state;
    only_as_root();
    assert_non_null(strstr(refusal(p, "demo", false, ERR_DENIED), "uid 70001 is not known here"));
    assert_int_equal(access(path, F_OK), -1);
    free(path);
    peer_close(p);
    fixture_close(f);
}

static void a_folder_of_somebody_else_is_theirs_whatever_the_database_says(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = stranger_connect(f, ALICE);

    (void)state;
    only_as_root();
    make(f, "demo", 0755, BOB, LAB);
    make(f, "demo.user70001", 0755, BOB, LAB);
    assert_string_equal(refusal(p, "demo", false, ERR_DENIED),
                        "project 'demo.user70001' belongs to #70002; choose another name with "
                        "project: NAME");
    assert_string_equal(refusal_of_submit(p, "demo"),
                        "project 'demo' belongs to #70002; choose another name with project: NAME");
    assert_int_equal(stat_of(f, "demo").st_uid, BOB);
    peer_close(p);
    fixture_close(f);
}

/* No test can fail on that thread. */
static void must(bool is_well)
{
    if (!is_well)
        abort();
}

static void put_link(int dir_fd, const char *name)
{
    must(renameat(dir_fd, name, dir_fd, "away") == 0);
    must(symlinkat("victim", dir_fd, name) == 0);
}

static void put_own(int dir_fd, const char *name)
{
    must(renameat(dir_fd, name, dir_fd, "away") == 0);
    must(syscall(SYS_mkdirat, dir_fd, name, 0755) == 0);
    must(fchownat(dir_fd, name, BOB, LAB, 0) == 0);
}

static void put_victim(int dir_fd, const char *name)
{
    must(renameat(dir_fd, name, dir_fd, "away") == 0);
    must(renameat(dir_fd, "victim", dir_fd, name) == 0);
}

/* By somebody who may write beside it. */
static void what_is_put_in_its_place_is_not_given_away(void **state)
{
    static const struct {
        void (*exchange)(int dir_fd, const char *name);
        const char *then; /* what must be as before, */
        uid_t uid;        /* and whose */
    } cases[] = { { put_link, "victim", 0 }, { put_own, "demo", BOB }, { put_victim, "demo", 0 } };

    (void)state;
    only_as_root();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fixture *f = fixture_open();
        struct peer *p = stranger_connect(f, ALICE);

        f->sv.share_gid = LAB;
        make(f, "victim", 0755, 0, 0);
        make(f, "victim/inside", 0755, 0, 0);
        exchange = cases[i].exchange;
        assert_non_null(strstr(refusal(p, "demo", false, ERR_DENIED), "was exchanged"));
        exchange = NULL;
        assert_int_equal(stat_of(f, cases[i].then).st_uid, cases[i].uid);
        assert_int_equal(stat_of(f, cases[i].then).st_mode, S_IFDIR | 0755);
        assert_int_equal(stat_of(f, "away").st_uid, 0);
        peer_close(p);
        fixture_close(f);
    }
}

static sem_t arrived, gate;

static void hang(int dir_fd, const char *name)
{
    (void)dir_fd, (void)name;
    must(sem_post(&arrived) == 0);
    must(sem_wait(&gate) == 0);
}

/* Until a thread hangs. */
static void wait_for_hanging(struct fixture *f)
{
    fixture_settle(f); /* it is asked to begin */
    assert_int_equal(sem_wait(&arrived), 0);
}

static void set_hanging(bool on)
{
    exchange = on ? hang : NULL;
    if (on) {
        assert_int_equal(sem_init(&arrived, 0, 0), 0);
        assert_int_equal(sem_init(&gate, 0, 0), 0);
    } else {
        sem_destroy(&arrived);
        sem_destroy(&gate);
    }
}

static void a_share_that_hangs_holds_up_only_who_asked(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f), *other = client_connect(f), *gone = client_connect(f);
    struct msg_open_project request = { .project = "demo" };
    struct msg_get_sweeps sweeps = { .limit = 1 };
    struct envelope m;

    (void)state;
    set_hanging(true);
    peer_send(p, MSG_OPEN_PROJECT, &request);
    wait_for_hanging(f);
    peer_send(p, MSG_GET_SWEEPS, &sweeps); /* its turn comes */
    peer_send(gone, MSG_OPEN_PROJECT, &request);
    peer_ask(other, MSG_GET_SWEEPS, &sweeps, NULL);
    assert_int_equal(peer_look(p, &m), 2); /* nothing */
    peer_close(gone);
    assert_int_equal(sem_post(&gate), 0);
    assert_int_equal(peer_receive_any(p, &m), MSG_PROJECT_OPEN);
    assert_int_equal(peer_receive_any(p, &m), MSG_SWEEP_PAGE);
    assert_int_equal(stat_of(f, "demo").st_mode, S_IFDIR | 0700);
    peer_close(p);
    peer_close(other);
    fixture_close(f);
    set_hanging(false);
}

static void two_who_ask_at_once_both_have_it(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = stranger_connect(f, ALICE), *other = stranger_connect(f, ALICE);
    struct msg_open_project request = { .project = "demo" };
    struct envelope m;
    sem_t look;

    (void)state;
    only_as_root();
    f->sv.share_gid = LAB;
    set_hanging(true);
    peer_send(p, MSG_OPEN_PROJECT, &request);
    wait_for_hanging(f);
    assert_int_equal(sem_init(&look, 0, 0), 0);
    looks = &look;
    peer_send(other, MSG_OPEN_PROJECT, &request);
    fixture_settle(f);
    assert_int_equal(sem_wait(&look), 0); /* it finds a folder that is nobody's yet */
    assert_int_equal(sem_post(&gate), 0);
    assert_int_equal(peer_receive_any(p, &m), MSG_PROJECT_OPEN);
    assert_int_equal(peer_receive_any(other, &m), MSG_PROJECT_OPEN);
    assert_int_equal(stat_of(f, "demo").st_uid, ALICE);
    peer_close(p);
    peer_close(other);
    fixture_close(f);
    set_hanging(false);
    looks = NULL;
    sem_destroy(&look);
}

static void who_leaves_ludwigd_meanwhile_is_forgotten(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct msg_open_project request = { .project = "demo" };

    (void)state;
    set_hanging(true);
    peer_send(p, MSG_OPEN_PROJECT, &request);
    wait_for_hanging(f);
    peer_close(p);
    assert_int_equal(conn_count(&f->sv), 0);
    assert_int_equal(sem_post(&gate), 0);
    fixture_close(f); /* once the thread has ended */
    set_hanging(false);
}

static void links_and_files_are_no_folders(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    char *link = project_path(f, "link"), *file = project_path(f, "file");
    int fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    (void)state;
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(symlink("/tmp", link), 0);
    assert_non_null(strstr(refusal(p, "link", false, ERR_DENIED), "no folder but a link"));
    assert_non_null(strstr(refusal(p, "file", false, ERR_DENIED), "is no folder; choose another"));
    assert_non_null(strstr(refusal(p, "../x", false, ERR_USAGE), "no name that every system"));
    free(link);
    free(file);
    peer_close(p);
    fixture_close(f);
}

static void a_mode_that_the_owner_set_stays(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);

    (void)state;
    make(f, "shared", 02770, geteuid(), getegid());
    open_project(p, "shared", false);
    submit_all(p, submit_of("shared", 1), 1, 1);
    assert_int_equal(stat_of(f, "shared").st_mode, S_IFDIR | 02770);
    assert_non_null(strstr(refusal(p, "shared", true, ERR_USAGE), "chmod 700"));
    peer_close(p);
    fixture_close(f);
}

static void a_submit_ends_only_when_the_folder_is_there(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct submit s = submit_of("demo", 1);
    char *path = project_path(f, "demo");
    struct msg_submit_end end;

    (void)state;
    submit_begin(p, &s);
    submit_chunk(p, &s, 1, 3);
    assert_int_equal(rmdir(path), 0);
    end = submit_ending(&s);
    assert_non_null(strstr(peer_refused(p, MSG_SUBMIT_END, &end, ERR_FAILED),
                           "the folder of project 'demo' is not on the share"));
    assert_int_equal(symlink("/tmp", path), 0);
    assert_non_null(strstr(peer_refused(p, MSG_SUBMIT_END, &end, ERR_DENIED), "a link"));
    assert_int_equal(unlink(path), 0);
    make(f, "demo", 0755, geteuid(), getegid());
    assert_int_equal(submit_end(p, &s).queued, 3);
    free(path);
    peer_close(p);
    fixture_close(f);
}

static void a_folder_that_was_removed_is_made_again(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    char *path = project_path(f, "demo");

    (void)state;
    submit_all(p, submit_of("demo", 1), 1, 1);
    assert_int_equal(rmdir(path), 0);
    submit_all(p, submit_of("demo", 1), 2, 2);
    assert_int_equal(stat_of(f, "demo").st_uid, geteuid());
    free(path);
    peer_close(p);
    fixture_close(f);
}

static void a_preview_names_the_owner_of_a_folder(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = stranger_connect(f, ALICE);
    struct buf none = { 0 };
    struct msg_preview request = { .project = "demo", .reps = 1 };
    struct msg_previewed answer;

    (void)state;
    only_as_root();
    mp_add_list(&none, 0);
    request.configs = buf_bytes(&none);
    peer_ask(p, MSG_PREVIEW, &request, &answer);
    assert_null(answer.owner);
    make(f, "demo", 0755, BOB, LAB);
    peer_ask(p, MSG_PREVIEW, &request, &answer);
    assert_null(answer.owner); /* of the one that would be made */
    assert_string_equal(answer.project, "demo.user70001");
    make(f, "demo.user70001", 0755, BOB, LAB);
    peer_ask(p, MSG_PREVIEW, &request, &answer);
    assert_string_equal(answer.owner, "#70002");
    assert_false(answer.is_own);
    buf_free(&none);
    peer_close(p);
    fixture_close(f);
}

/* ---- a name that two users have ---- */

enum { DAEMON = 1, BIN = 2 }; /* of accounts that every machine has */

static const char *opened_as(struct peer *p, const char *name)
{
    struct msg_open_project request = { .project = name };
    struct msg_project_open answer;

    peer_ask(p, MSG_OPEN_PROJECT, &request, &answer);
    return answer.project;
}

static void the_second_users_has_a_name_of_its_own(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *first = client_connect(f), *second = stranger_connect(f, DAEMON);
    struct buf none = { 0 };
    struct msg_preview request = { .project = "demo", .reps = 1 };
    struct msg_previewed answer;

    (void)state;
    only_as_root();
    assert_string_equal(opened_as(first, "demo"), "demo");
    /* There is only a folder yet, then a row, too. */
    for (int n = 0; n < 2; n++) {
        assert_string_equal(opened_as(second, "demo"), "demo.user1");
        assert_string_equal(opened_as(second, "demo.user1"), "demo.user1");
        assert_string_equal(opened_as(first, "demo"), "demo");
        submit_all(first, submit_of("demo", 1), n + 1, n + 1);
    }
    assert_int_equal(stat_of(f, "demo").st_uid, 0);
    assert_int_equal(stat_of(f, "demo.user1").st_uid, DAEMON);
    submit_all(second, submit_of("demo.user1", 1), 1, 1);
    mp_add_list(&none, 0);
    request.configs = buf_bytes(&none);
    peer_ask(second, MSG_PREVIEW, &request, &answer);
    assert_string_equal(answer.project, "demo.user1");
    assert_string_equal(answer.owner, "user1");
    assert_true(answer.is_own);
    buf_free(&none);
    peer_close(second);
    peer_close(first);
    fixture_close(f);
}

static void nobody_takes_the_name_of_anothers(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *second = stranger_connect(f, DAEMON), *third = stranger_connect(f, BIN);

    (void)state;
    only_as_root();
    assert_string_equal(opened_as(third, "own.user1"), "own.user1"); /* nobody of that name yet */
    submit_all(third, submit_of("own.user1", 1), 1, 1);
    assert_string_equal(opened_as(second, "demo"), "demo");
    submit_all(second, submit_of("demo", 1), 1, 1);
    assert_non_null(strstr(refusal(third, "demo.user1", false, ERR_DENIED), "kept for that user"));
    assert_string_equal(opened_as(third, "own.user1"), "own.user1");
    assert_string_equal(opened_as(third, "demo.v2"), "demo.v2");
    /* Where both names are others', there is no third. */
    assert_string_equal(opened_as(third, "own"), "own");
    submit_all(third, submit_of("own", 1), 1, 1);
    assert_non_null(strstr(refusal(second, "own", false, ERR_DENIED), "belongs to user2"));
    peer_close(third);
    peer_close(second);
    fixture_close(f);
}

/* ---- who may look ---- */

static void put_into(struct peer *p, gid_t group)
{
    free(p->conn->groups.items);
    p->conn->groups.items = mem_copy(&group, sizeof group);
    p->conn->groups.n = 1;
    p->conn->has_groups = true;
}

static void expect_sight(struct peer *p, int64_t sweep, bool may)
{
    struct msg_get_jobs jobs = { .sweep = sweep };
    struct msg_get_results results = { .sweep = sweep };
    struct msg_subscribe follow = { .sweep = sweep, .jobs = true };
    struct msg_ask_why why = { sweep, 1 };

    if (may) {
        peer_ask(p, MSG_GET_JOBS, &jobs, NULL);
        peer_ask(p, MSG_GET_RESULTS, &results, NULL);
        peer_ask(p, MSG_ASK_WHY, &why, NULL);
        peer_ask(p, MSG_SUBSCRIBE, &follow, NULL);
        return;
    }
    peer_refused(p, MSG_GET_JOBS, &jobs, ERR_DENIED);
    peer_refused(p, MSG_GET_RESULTS, &results, ERR_DENIED);
    peer_refused(p, MSG_ASK_WHY, &why, ERR_DENIED);
    peer_refused(p, MSG_SUBSCRIBE, &follow, ERR_DENIED);
}

static void who_may_read_the_folder_sees_jobs_and_results(void **state)
{
    static const struct {
        mode_t mode;
        gid_t group;
        bool may;
    } cases[] = {
        { 0755, 1, true },    { 02750, LAB, true }, { 02750, 1, false },
        { 02770, LAB, true }, { 0700, LAB, false }, { 0705, LAB, false },
        { 0705, 1, true },    { 0751, 1, false },   { 02740, LAB, false },
    };

    (void)state;
    only_as_root();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fixture *f = fixture_open();
        struct peer *owner = stranger_connect(f, ALICE), *other = stranger_connect(f, BOB);
        char *path = project_path(f, "demo");
        int64_t sweep;

        assert_int_equal(chmod(f->dir, 0755), 0);
        f->sv.share_gid = LAB;
        sweep = submit_all(owner, submit_of("demo", 1), 1, 2).sweep;
        assert_int_equal(chmod(path, cases[i].mode), 0);
        put_into(other, cases[i].group);
        expect_sight(owner, sweep, true);
        expect_sight(other, sweep, cases[i].may);
        free(path);
        peer_close(owner);
        peer_close(other);
        fixture_close(f);
    }
}

static void an_open_folder_behind_a_closed_one_is_closed(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *owner = client_connect(f), *other = stranger_connect(f, BOB);
    int64_t sweep = submit_all(owner, submit_of("demo", 1), 1, 2).sweep;
    char *path = project_path(f, "demo");

    (void)state;
    assert_int_equal(chmod(path, 0755), 0);
    put_into(other, 1);
    expect_sight(other, sweep, false); /* the fixture's folder is 0700 */
    assert_int_equal(chmod(f->dir, 0711), 0);
    expect_sight(other, sweep, true);
    free(path);
    peer_close(owner);
    peer_close(other);
    fixture_close(f);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(ones_own_ludwigd_makes_a_folder_for_its_user_or_for_a_group),
        cmocka_unit_test(what_will_be_refused_makes_no_folder),
        cmocka_unit_test(root_makes_it_and_gives_it_away),
        cmocka_unit_test(what_was_begun_is_finished),
        cmocka_unit_test(what_others_made_is_not_finished),
        cmocka_unit_test(what_has_something_in_it_is_not_finished),
        cmocka_unit_test(nobody_is_given_a_folder_whose_group_is_not_known),
        cmocka_unit_test(a_folder_of_somebody_else_is_theirs_whatever_the_database_says),
        cmocka_unit_test(what_is_put_in_its_place_is_not_given_away),
        cmocka_unit_test(a_share_that_hangs_holds_up_only_who_asked),
        cmocka_unit_test(two_who_ask_at_once_both_have_it),
        cmocka_unit_test(who_leaves_ludwigd_meanwhile_is_forgotten),
        cmocka_unit_test(links_and_files_are_no_folders),
        cmocka_unit_test(a_mode_that_the_owner_set_stays),
        cmocka_unit_test(a_submit_ends_only_when_the_folder_is_there),
        cmocka_unit_test(a_folder_that_was_removed_is_made_again),
        cmocka_unit_test(a_preview_names_the_owner_of_a_folder),
        cmocka_unit_test(the_second_users_has_a_name_of_its_own),
        cmocka_unit_test(nobody_takes_the_name_of_anothers),
        cmocka_unit_test(who_may_read_the_folder_sees_jobs_and_results),
        cmocka_unit_test(an_open_folder_behind_a_closed_one_is_closed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
