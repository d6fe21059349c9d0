/* SPDX-License-Identifier: MIT */
/* sftp_root.c - a jail is found to begin anywhere above the shared drive */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/proto/shareid.h"
#include "common/sftp/sftp_root.h"
#include "tests/unit/skip.h"

/* A folder that stands for the root of what SFTP shows: its path is that of the jail, behind which
 * what ludwigd says of its drive is put. */
struct place {
    char folder[64];
    struct sftp *s;
    struct arena *a;
    pid_t pid;
};

static const char *server_program(void)
{
    static const char *const places[] = { "/usr/lib/openssh/sftp-server",
                                          "/usr/libexec/openssh/sftp-server",
                                          "/usr/lib/ssh/sftp-server", "/usr/libexec/sftp-server" };

    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        if (access(places[i], X_OK) == 0)
            return places[i];
    return NULL;
}

static pid_t serve(int fd)
{
    pid_t pid = fork();

    if (pid == 0) {
        dup2(fd, STDIN_FILENO);
        dup2(fd, STDOUT_FILENO);
        execl(server_program(), "sftp-server", (char *)NULL);
        _exit(127);
    }
    close(fd);
    return pid;
}

static int begin(void **state)
{
    struct place *p = mem_alloc(sizeof *p);
    int ends[2];

    *state = p;
    p->a = arena_create();
    strcpy(p->folder, "/tmp/root-XXXXXX");
    if (mkdtemp(p->folder) == NULL || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return -1;
    if (server_program() == NULL)
        return 0;
    p->pid = serve(ends[1]);
    p->s = sftp_open(ends[0], NULL);
    return p->s != NULL ? 0 : -1;
}

static int end(void **state)
{
    struct place *p = *state;
    int result;

    sftp_close(p->s);
    if (p->pid > 0)
        waitpid(p->pid, NULL, 0);
    arena_destroy(p->a);
    result = io_remove_tree(p->folder, NULL);
    free(p);
    return result;
}

static struct place *here(void **state)
{
    struct place *p = *state;

    if (p->s == NULL)
        skip_because("takes sftp-server");
    return p;
}

/* .ludwig/id below the folder's path. */
static void write_id(struct place *p, const char *path, const char *id)
{
    const char *dir = arena_printf(p->a, "%s%s/.ludwig", p->folder, path);
    const char *text = arena_printf(p->a, "{\"v\":1,\"server\":%s,\"host\":\"h\"}\n", id);

    assert_int_equal(io_make_dirs(dir, 0755, NULL), 0);
    assert_int_equal(io_write_file_at(AT_FDCWD, arena_printf(p->a, "%s/id", dir), text,
                                      strlen(text), 0644, NULL),
                     0);
}

static void write_mark(struct place *p, const char *path, const char *server_id)
{
    const char *dir = arena_printf(p->a, "%s%s/.ludwig", p->folder, path);
    char *mark = shareid_mark(server_id);

    assert_int_equal(io_make_dirs(dir, 0755, NULL), 0);
    assert_int_equal(
        io_write_file_at(AT_FDCWD, arena_printf(p->a, "%s/%s", dir, mark), "", 0, 0644, NULL), 0);
    free(mark);
}

static const char *find(struct place *p, const char *share, struct err *e)
{
    return sftp_root_find(p->s, share, "abc", p->a, e);
}

static void the_whole_path_is_right_without_a_jail(void **state)
{
    struct place *p = here(state);
    const char *drive = arena_printf(p->a, "%s/srv/data", p->folder);
    struct err e = { 0 };

    write_id(p, "/srv/data", "\"abc\"");
    assert_string_equal(find(p, drive, &e), drive);
    assert_string_equal(find(p, arena_printf(p->a, "%s//", drive), &e), drive);
}

static void a_jail_above_the_drive_is_seen_through(void **state)
{
    struct place *p = here(state);
    const char *drive = arena_printf(p->a, "%s/data", p->folder);
    struct err e = { 0 };

    write_id(p, "/data", "\"abc\"");
    assert_string_equal(find(p, arena_printf(p->a, "/nowhere/jail%s", drive), &e), drive);
}

static void of_several_the_right_server_counts(void **state)
{
    struct place *p = here(state);
    const char *drive = arena_printf(p->a, "%s/data", p->folder);
    struct err e = { 0 };

    write_id(p, "/data", "\"abc\"");
    write_id(p, arena_printf(p->a, "/x%s", drive), "\"other\"");
    assert_string_equal(find(p, arena_printf(p->a, "%s/x%s", p->folder, drive), &e), drive);
}

static void a_mark_is_enough_and_anothers_is_none(void **state)
{
    struct place *p = here(state);
    const char *drive = arena_printf(p->a, "%s/data", p->folder);

    write_mark(p, arena_printf(p->a, "/x%s", drive), "abcd");
    write_mark(p, "/data", "abc");
    assert_string_equal(find(p, arena_printf(p->a, "%s/x%s", p->folder, drive), NULL), drive);
}

/* A user whose project is called like the drive could mark a folder in it. */
static void what_lies_in_the_drive_is_not_the_drive(void **state)
{
    struct place *p = here(state);
    const char *drive = p->folder, *inside = arena_printf(p->a, "%s%s", drive, drive);

    write_id(p, "", "\"abc\"");
    write_id(p, drive, "\"abc\"");
    assert_string_equal(find(p, inside, NULL), drive);
    write_mark(p, "", "abc");
    write_mark(p, drive, "abc");
    assert_string_equal(find(p, inside, NULL), drive);
}

static void what_is_wrong_is_said(void **state)
{
    struct place *p = here(state);
    const char *drive = arena_printf(p->a, "%s/data", p->folder);
    struct err e = { 0 };

    assert_null(find(p, drive, &e));
    assert_int_equal(e.kind, ERR_NOT_FOUND);
    assert_non_null(strstr(e.text, "SFTP does not show the shared drive, which is /tmp/root-"));
    write_id(p, "/data", "\"abcd\"");
    assert_null(find(p, drive, &e));
    assert_non_null(strstr(e.text, "SFTP shows the shared drive of another server at /tmp/root-"));
    if (geteuid() == 0)
        return;
    assert_int_equal(chmod(drive, 0), 0);
    assert_null(find(p, drive, &e));
    assert_int_equal(e.kind, ERR_DENIED);
    assert_int_equal(chmod(drive, 0700), 0);
}

static void an_id_of_nonsense_is_nobodys(void **state)
{
    static const char *const ids[] = { "[]", "7", "null", "\"\"", "\"abc", "{}", "\"abc\\u0000\"" };
    struct place *p = here(state);
    const char *drive = arena_printf(p->a, "%s/data", p->folder);

    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        write_id(p, "/data", ids[i]);
        assert_null(find(p, drive, NULL));
    }
}

#define HERE(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        HERE(the_whole_path_is_right_without_a_jail),
        HERE(a_jail_above_the_drive_is_seen_through),
        HERE(of_several_the_right_server_counts),
        HERE(a_mark_is_enough_and_anothers_is_none),
        HERE(what_lies_in_the_drive_is_not_the_drive),
        HERE(what_is_wrong_is_said),
        HERE(an_id_of_nonsense_is_nobodys),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
