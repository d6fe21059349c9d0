/* SPDX-License-Identifier: MIT */
/* floor.c - the least that N jobs can cost: spawns with the same file work, without ludwig */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <linux/fs.h>

/*
 * One process does to the files of a job what ludwig does, in the same order, from the job's
 * start until its scratch is removed: it makes the job's folder, from a spare one if there is
 * one, with order, parameters, save/, work/ and tmp/; the log; the outcome; moves the folder to
 * ended/; copies saved files and job.json to a temporary name on the share, and the log; calls
 * syncfs once for GROUP jobs; renames to the final name; writes the report; moves the folder to
 * published/ and then to the spare folders.
 */
enum { GROUP = 100, JOBS_PER_PARAM = 1, SLOTS_MAX = 64, NAME_BYTES = 96, SPARES_MAX = 256 };

struct job {
    int number; /* -1: the slot is free */
    pid_t pid;
};

struct floor {
    int run, ended, published, spare, logs; /* scratch */
    int share, runs, share_logs;
    struct job slots[SLOTS_MAX];
    int n_slots;
    int waiting[GROUP]; /* ended, not published */
    int n_waiting;
    int spares[SPARES_MAX];
    int n_spares;
};

static void die(const char *what)
{
    fprintf(stderr, "floor: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void check(int result, const char *what)
{
    if (result < 0)
        die(what);
}

/* ---- names ---- */

static const char *name_of(char *name, int job, const char *below)
{
    snprintf(name, NAME_BYTES, "%032x%s", (unsigned)job, below);
    return name;
}

static const char *final_name(char *name, int job, const char *below)
{
    snprintf(name, NAME_BYTES, "param_%03d/20261121-101500_num%d%s", job / JOBS_PER_PARAM, job,
             below);
    return name;
}

static const char *temporary_name(char *name, int job, const char *below)
{
    snprintf(name, NAME_BYTES, "param_%03d/.num%d.%032x%s", job / JOBS_PER_PARAM, job,
             (unsigned)job, below);
    return name;
}

/* ---- one file after the other ---- */

static int open_new_folder(int dir_fd, const char *name)
{
    int fd;

    if (mkdirat(dir_fd, name, 0755) < 0 && errno != EEXIST)
        die(name);
    fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    check(fd, name);
    return fd;
}

static void write_file(int dir_fd, const char *name, size_t n)
{
    static const char bytes[1024];
    int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    check(fd, name);
    if (write(fd, bytes, n) != (ssize_t)n)
        die(name);
    check(close(fd), name);
}

/* In place of what the attempt before left. */
static void put_file(int dir_fd, const char *name, size_t n)
{
    static const char bytes[1024];
    int fd = openat(dir_fd, name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;

    if (fd < 0) {
        write_file(dir_fd, name, n);
        return;
    }
    check(fstat(fd, &st), name);
    if (write(fd, bytes, n) != (ssize_t)n || (st.st_size > (off_t)n && ftruncate(fd, (off_t)n) < 0))
        die(name);
    close(fd);
}

static void read_file(int dir_fd, const char *name)
{
    char bytes[4096];
    int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);

    check(fd, name);
    if (read(fd, bytes, sizeof bytes) < 0)
        die(name);
    close(fd);
}

static void move(int from_fd, const char *from, int to_fd, const char *to)
{
    check(renameat(from_fd, from, to_fd, to), to);
}

/* ---- one job ---- */

static void have_folder(int dir_fd, const char *name)
{
    if (mkdirat(dir_fd, name, 0755) < 0 && errno != EEXIST)
        die(name);
}

static void fill_folder(int fd)
{
    put_file(fd, "order", 300);
    have_folder(fd, "work");
    check(mkdirat(fd, "save", 0755), "save");
    have_folder(fd, "tmp");
    put_file(fd, "param2val.json", 30);
    put_file(fd, "param2val.yaml", 20);
    put_file(fd, "param2val.msgpack", 16);
}

static int make_folder(struct floor *f, int job)
{
    char name[NAME_BYTES], own[NAME_BYTES + 1], log[NAME_BYTES];
    int fd;

    name_of(name, job, "");
    if (f->n_spares == 0) {
        fd = open_new_folder(f->run, name);
        fill_folder(fd);
        return fd;
    }
    snprintf(own, sizeof own, ".%s", name);
    move(f->spare, name_of(log, f->spares[--f->n_spares], ""), f->spare, own);
    fd = openat(f->spare, own, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    check(fd, own);
    fill_folder(fd);
    move(fd, "log", f->logs, name);
    move(f->spare, own, f->run, name);
    return fd;
}

static pid_t spawn_true(int log_fd)
{
    char *const argv[] = { (char *)(size_t) "/bin/true", NULL };
    posix_spawn_file_actions_t files;
    pid_t pid = -1;
    int rc = posix_spawn_file_actions_init(&files);

    if (rc == 0)
        rc = posix_spawn_file_actions_adddup2(&files, log_fd, 1);
    if (rc == 0)
        rc = posix_spawn_file_actions_adddup2(&files, log_fd, 2);
    if (rc == 0)
        rc = posix_spawn(&pid, "/bin/true", &files, NULL, argv, environ);
    if (rc != 0) {
        errno = rc;
        die("/bin/true");
    }
    posix_spawn_file_actions_destroy(&files);
    return pid;
}

static void start(struct floor *f, struct job *slot, int job)
{
    char name[NAME_BYTES];
    int fd = make_folder(f, job);
    int log_fd =
        openat(f->logs, name_of(name, job, ""), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

    check(log_fd, "log");
    *slot = (struct job){ job, spawn_true(log_fd) };
    close(log_fd);
    close(fd);
}

static void look_into(int dir_fd, const char *name)
{
    int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);

    if (dir == NULL)
        die(name);
    while (readdir(dir) != NULL)
        ;
    closedir(dir);
}

static void end(const struct floor *f, int job)
{
    char name[NAME_BYTES], to[NAME_BYTES];

    look_into(f->run, name_of(name, job, "/work"));
    look_into(f->run, name_of(name, job, "/tmp"));
    put_file(f->run, name_of(name, job, "/outcome.new"), 90);
    move(f->run, name, f->run, name_of(to, job, "/outcome"));
    name_of(name, job, "");
    move(f->run, name, f->ended, name);
}

/* ---- a group ---- */

static void make_param_folder(const struct floor *f, int job)
{
    char name[NAME_BYTES];

    snprintf(name, sizeof name, "param_%03d", job / JOBS_PER_PARAM);
    if (mkdirat(f->runs, name, 0755) < 0) {
        if (errno != EEXIST)
            die(name);
        return;
    }
    snprintf(name, sizeof name, "param_%03d/param2val.yaml", job / JOBS_PER_PARAM);
    write_file(f->runs, name, 20);
}

static void place(const struct floor *f, int job)
{
    char name[NAME_BYTES], to[NAME_BYTES];

    read_file(f->ended, name_of(name, job, "/outcome"));
    read_file(f->ended, name_of(name, job, "/order"));
    make_param_folder(f, job);
    look_into(f->ended, name_of(name, job, "/save"));
    move(f->ended, name, f->runs, temporary_name(to, job, ""));
    write_file(f->runs, temporary_name(to, job, "/job.json"), 550);
    snprintf(name, sizeof name, "param_%03d_num%d.log", job / JOBS_PER_PARAM, job);
    write_file(f->share_logs, name, 0);
}

static void fence(const struct floor *f, int job)
{
    char name[NAME_BYTES], to[NAME_BYTES];

    move(f->runs, temporary_name(name, job, ""), f->runs, final_name(to, job, ""));
    read_file(f->runs, final_name(to, job, "/job.json"));
}

static void sync_param_folder(const struct floor *f, int job)
{
    char name[NAME_BYTES];
    int fd;

    snprintf(name, sizeof name, "param_%03d", job / JOBS_PER_PARAM);
    fd = openat(f->runs, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    check(fd, name);
    check(fsync(fd), name);
    close(fd);
}

static void finish(const struct floor *f, int job)
{
    char name[NAME_BYTES];

    put_file(f->ended, name_of(name, job, "/report"), 175);
    name_of(name, job, "");
    move(f->ended, name, f->published, name);
}

/* A group is smaller than the number of spare folders, so there is room for all. */
static void give(struct floor *f, int job)
{
    char name[NAME_BYTES], to[NAME_BYTES];
    struct stat st;

    move(f->published, name_of(name, job, "/outcome"), f->published,
         name_of(to, job, "/outcome.new"));
    name_of(name, job, "");
    check(fstatat(f->logs, name, &st, 0), name);
    move(f->logs, name, f->published, name_of(to, job, "/log"));
    look_into(f->published, name);
    move(f->published, name, f->spare, name);
    f->spares[f->n_spares++] = job;
}

static void publish(struct floor *f)
{
    for (int i = 0; i < f->n_waiting; i++)
        place(f, f->waiting[i]);
    check(syncfs(f->share), "syncfs");
    for (int i = 0; i < f->n_waiting; i++)
        fence(f, f->waiting[i]);
    for (int i = 0; i < f->n_waiting; i++)
        if (i == 0 || f->waiting[i] / JOBS_PER_PARAM != f->waiting[i - 1] / JOBS_PER_PARAM)
            sync_param_folder(f, f->waiting[i]);
    for (int i = 0; i < f->n_waiting; i++)
        finish(f, f->waiting[i]);
    for (int i = 0; i < f->n_waiting; i++)
        give(f, f->waiting[i]);
    f->n_waiting = 0;
}

/* ---- all ---- */

static void spread_folders(int fd)
{
    int flags;

    if (ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0) {
        flags |= FS_TOPDIR_FL;
        (void)ioctl(fd, FS_IOC_SETFLAGS, &flags);
    }
}

static void clear_spares(struct floor *f)
{
    static const char *const names[] = {
        "/order",          "/outcome.new",    "/report",           "/log",
        "/param2val.json", "/param2val.yaml", "/param2val.msgpack"
    };
    char name[NAME_BYTES];

    while (f->n_spares > 0) {
        int job = f->spares[--f->n_spares];

        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
            check(unlinkat(f->spare, name_of(name, job, names[i]), 0), name);
        check(unlinkat(f->spare, name_of(name, job, "/work"), AT_REMOVEDIR), name);
        check(unlinkat(f->spare, name_of(name, job, "/tmp"), AT_REMOVEDIR), name);
        check(unlinkat(f->spare, name_of(name, job, ""), AT_REMOVEDIR), name);
    }
}

static void take_end(struct floor *f)
{
    int status;
    pid_t pid = waitpid(-1, &status, 0);

    check(pid, "wait");
    for (int i = 0; i < f->n_slots; i++)
        if (f->slots[i].number >= 0 && f->slots[i].pid == pid) {
            end(f, f->slots[i].number);
            f->waiting[f->n_waiting++] = f->slots[i].number;
            f->slots[i].number = -1;
        }
}

static void run(struct floor *f, int n)
{
    int next = 0, done = 0;

    while (done < n) {
        for (int i = 0; i < f->n_slots && next < n; i++)
            if (f->slots[i].number < 0)
                start(f, &f->slots[i], next++);
        take_end(f);
        done++;
        if (f->n_waiting == GROUP || done == n)
            publish(f);
    }
    clear_spares(f);
}

static void open_all(struct floor *f, const char *dir)
{
    int top = open_new_folder(AT_FDCWD, dir);
    int scratch = open_new_folder(top, "scratch");

    f->run = open_new_folder(scratch, "run");
    spread_folders(f->run);
    f->ended = open_new_folder(scratch, "ended");
    f->published = open_new_folder(scratch, "published");
    f->spare = open_new_folder(scratch, "spare");
    f->logs = open_new_folder(scratch, "log");
    f->share = open_new_folder(top, "share");
    f->runs = open_new_folder(f->share, "runs");
    f->share_logs = open_new_folder(f->share, "logs");
    for (int i = 0; i < SLOTS_MAX; i++)
        f->slots[i].number = -1;
}

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int number_of(const char *text, int max)
{
    char *end;
    long number = strtol(text, &end, 10);

    return end == text || *end != '\0' || number < 1 || number > max ? 0 : (int)number;
}

int main(int argc, char **argv)
{
    struct floor f = { .n_waiting = 0, .n_spares = 0 };
    int n = argc == 4 ? number_of(argv[1], 1000 * 1000) : 0;
    double begin_s, seconds;

    f.n_slots = argc == 4 ? number_of(argv[2], SLOTS_MAX) : 0;
    if (n == 0 || f.n_slots == 0) {
        fprintf(stderr, "usage: floor N SLOTS NEW_FOLDER\n");
        return 2;
    }
    open_all(&f, argv[3]);
    begin_s = now_s();
    run(&f, n);
    seconds = now_s() - begin_s;
    printf("%.3f s %.0f jobs/s\n", seconds, n / seconds);
    return 0;
}
