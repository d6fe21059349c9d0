/* SPDX-License-Identifier: MIT */
/*
 * share_site.h - makes a share in a temporary folder; with SITE_HAS_SCRATCH also a scratch
 *
 * SITE_EITHER_WAY runs a program's tests twice: with the share mounted, and over SFTP.  Errors fail
 * the test.
 */
#ifndef LUDWIG_TESTS_UNIT_SHARE_SITE_H
#define LUDWIG_TESTS_UNIT_SHARE_SITE_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/proto/layout.h"
#include "common/share/share.h"
#include "tests/unit/sftp_server.h"
#include "tests/unit/skip.h"
#ifdef SITE_HAS_SCRATCH
#include "worker/base/scratch.h"
#endif

/* How many folders scratch_open makes; scratch holds no others while nothing runs. */
enum { SITE_FOLDERS = 7 };

/* Whether sites that are opened from now on reach their share over SFTP. */
static bool site_is_over_sftp;

struct site {
    char *top;   /* the temporary folder */
    char *share; /* the share's name, see share_sftp_name */
    char *share_path;
    int top_fd;
#ifdef SITE_HAS_SCRATCH
    struct scratch scratch;
#endif
    struct sftp_server server;
    struct shares *access;
    struct share_dir *root; /* the share */
    struct share_dir *dir;  /* top, reached in the same way as the share */
    struct arena *arena;
    struct buf params; /* of the order that site_order made last */
};

static inline void site_open_share(struct site *s)
{
    const struct share_source source = { .connect = sftp_server_connect, .context = &s->server };
    struct err e = { 0 };

    s->access = shares_create(&source);
    s->root = share_open(s->access, s->share, &e);
    if (s->root == NULL)
        fail_msg("%s", e.text);
    /* A path must not lead out of a mounted share: top is opened as a share of its own. */
    s->dir =
        site_is_over_sftp ? share_open_dir(s->root, "..", &e) : share_open(s->access, s->top, &e);
    assert_non_null(s->dir);
}

/* Makes the share's folder with the project demo and with ludwigd's own folder and its id. */
static inline void site_make_share(struct site *s)
{
    static const char id[] = "{\"v\":1,\"server\":\"server\",\"host\":\"h\"}\n";
    char *project = mem_printf("%s/demo", s->share_path);
    char *own = mem_printf("%s/" LAYOUT_SERVER_DIR, s->share_path);
    char *path = mem_printf("%s/id", own);
    struct err e = { 0 };

    assert_int_equal(io_make_dirs(project, 0755, &e), 0);
    assert_int_equal(chmod(project, 0755), 0);
    assert_int_equal(io_make_dirs(own, 0755, &e), 0);
    assert_int_equal(io_replace_file(path, id, strlen(id), 0644, &e), 0);
    free(path);
    free(own);
    free(project);
}

#ifdef SITE_HAS_SCRATCH
static inline void site_open_scratch(struct site *s, const char *scratch_base)
{
    char *scratch;
    struct err e = { 0 };

    scratch = scratch_base == NULL ? mem_printf("%s/scratch", s->top)
                                   : mem_printf("%s/%s", scratch_base, s->top + 5);
    if (scratch_open(&s->scratch, scratch, &e) < 0)
        fail_msg("%s", e.text);
    free(scratch);
}
#endif

/* Opens the site; free it with site_close.  scratch_base: the folder for scratch; NULL: the site's
 * own. */
static inline void site_open(struct site *s, const char *scratch_base)
{
    char template[] = "/tmp/ludwig.XXXXXX";
    struct err e = { 0 };

    assert_non_null(mkdtemp(template));
    *s = (struct site){ .top = mem_strdup(template), .arena = arena_create() };
    s->share_path = mem_printf("%s/share", s->top);
    s->share = site_is_over_sftp ? share_sftp_name("server", "", s->share_path)
                                 : mem_strdup(s->share_path);
    site_make_share(s);
#ifdef SITE_HAS_SCRATCH
    site_open_scratch(s, scratch_base);
#else
    (void)scratch_base;
#endif
    s->top_fd = io_open_dir(s->top, &e);
    site_open_share(s);
}

static inline void site_close(struct site *s)
{
    struct err e = { 0 };

    close(s->top_fd);
    share_close(s->dir);
    share_close(s->root);
    shares_destroy(s->access);
    sftp_server_kill(&s->server);
#ifdef SITE_HAS_SCRATCH
    assert_int_equal(io_remove_tree(s->scratch.path, &e), 0);
    scratch_close(&s->scratch);
#endif
    assert_int_equal(io_remove_tree(s->top, &e), 0);
    arena_destroy(s->arena);
    buf_free(&s->params);
    free(s->share);
    free(s->share_path);
    free(s->top);
}

static inline void site_write(int dir_fd, const char *path, const char *text)
{
    struct err e = { 0 };

    if (io_write_file_at(dir_fd, path, text, strlen(text), 0644, &e) < 0)
        fail_msg("%s", e.text);
}

/* Returns the text of the file top/PATH, which lives in the site's arena. */
static inline const char *site_read(struct site *s, const char *path)
{
    struct buf text = { 0 };
    struct err e = { 0 };
    const char *copy;

    if (io_read_file_at(s->top_fd, path, 1 << 20, &text, &e) < 0)
        fail_msg("%s", e.text);
    copy = arena_strndup(s->arena, buf_text(&text), text.n);
    buf_free(&text);
    return copy;
}

/* Whether there is a file, folder or link top/PATH. */
static inline bool site_has(const struct site *s, const char *path)
{
    struct stat st;

    return fstatat(s->top_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Makes the test run as nobody until site_become_root, so that folders can belong to another user:
 * root.  Skips the test if it does not run as root. */
static inline void site_become_nobody(void)
{
    if (geteuid() != 0)
        skip_because("takes root");
    assert_int_equal(seteuid(65534), 0);
}

static inline void site_become_root(void)
{
    assert_int_equal(seteuid(0), 0);
}

/* Makes a folder of root's with a file in it, as a container leaves them; then the test runs as
 * nobody. */
static inline void site_add_foreign(int dir_fd, const char *folder, mode_t mode, const char *file)
{
    char *path = mem_printf("%s/%s", folder, file);

    site_become_root();
    assert_int_equal(mkdirat(dir_fd, folder, 0700), 0);
    assert_int_equal(fchmodat(dir_fd, folder, mode, 0), 0);
    site_write(dir_fd, path, "root's");
    assert_int_equal(seteuid(65534), 0);
    free(path);
}

/* Returns how many entries lie below the folder, whose path may be followed by options of
 * find(1). */
static inline int site_count(const char *folder)
{
    char *command = mem_printf("find %s -mindepth 1 | wc -l", folder);
    FILE *f = popen(command, "r");
    int n = -1;

    assert_non_null(f);
    assert_int_equal(fscanf(f, "%d", &n), 1);
    pclose(f);
    free(command);
    return n;
}

/* The setup of a group of tests. */
static inline int site_goes_over_sftp(void **state)
{
    (void)state;
    site_is_over_sftp = true;
    return 0;
}

/* Both run a table of tests and give the number of failed ones.  SITE_OVER_SFTP runs none where
 * this machine has no sftp-server. */
#define SITE_OVER_SFTP(tests)      \
    (sftp_server_program() == NULL \
         ? 0                       \
         : cmocka_run_group_tests_name("over SFTP", tests, site_goes_over_sftp, NULL))
#define SITE_EITHER_WAY(tests) \
    (cmocka_run_group_tests_name("mounted", tests, NULL, NULL) + SITE_OVER_SFTP(tests))

#endif
