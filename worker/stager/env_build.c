/* SPDX-License-Identifier: MIT */
/* env_build.c - builds an environment in the cache with pip, uv or conda */

#include "worker/stager/env_build.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/path.h"
#include "common/base/units.h"
#include "worker/base/job_spawn.h"
#include "worker/base/process_tree.h"
#include "worker/base/shell_modules.h"
#include "worker/stager/cache_record.h"

enum {
    BUILD_MAX_MS = 60 * 60 * 1000,
    PAUSE_NS = 20 * 1000 * 1000,
    OUTPUT_SHOWN_BYTES = 64 * 1024,
    ROOM_AT_LEAST_BYTES = 64 * 1024 * 1024,
    KILLS_MAX = 250,
    EXIT_LACKS = 77 /* of a script: the last line says what this machine does not have */
};

/* The variable that names the tree to the script, and marks its processes. */
#define BUILDS "LUDWIG_TO"

/* Names in the folder .DIGEST.new of a build. */
#define OUTPUT "output"
#define TMP    "tmp"

/* ---- scripts ---- */

static const char begin[] = "ludwig_fails() {\n"
                            "printf '%s\\n' \"$2\"\n"
                            "exit 77\n"
                            "}\n";

/* Options are lines of a variable, and become the arguments. */
static const char take_options[] = "set --\n"
                                   "while IFS= read -r ludwig_x; do\n"
                                   "[ -z \"$ludwig_x\" ] || set -- \"$@\" \"$ludwig_x\"\n"
                                   "done <<ludwig_end\n"
                                   "$LUDWIG_OPTIONS\n"
                                   "ludwig_end\n";

static const struct tool {
    const char *name;
    const char *programs; /* one of which is needed */
    const char *script;   /* with the first of them that is there in $ludwig_program */
} tools[] = {
    { "pip", NULL,
      "\"$ludwig_program\" -c 'import venv, ensurepip' || ludwig_fails environment"
      " \"$ludwig_program on $LUDWIG_HOST cannot make environments, as its modules venv and ensurepip"
      " are not both there (Debian and Ubuntu have them in the package python3-venv)\"\n"
      "\"$ludwig_program\" -m venv \"$LUDWIG_TO\" || exit 1\n"
      "exec \"$LUDWIG_TO/bin/python\" -m pip install --no-input --disable-pip-version-check"
      " -r \"$LUDWIG_FILE\" \"$@\"\n" },
    { "uv", "uv",
      "export UV_PROJECT_ENVIRONMENT=\"$LUDWIG_TO\" UV_LINK_MODE=copy UV_COMPILE_BYTECODE=1\n"
      "[ -z \"$LUDWIG_PYTHON\" ] || export UV_PYTHON=\"$LUDWIG_PYTHON\"\n"
      "cd \"$(dirname \"$LUDWIG_FILE\")\" || exit 1\n"
      "exec uv sync --frozen --no-install-workspace --no-progress \"$@\"\n" },
    { "conda", "micromamba mamba conda",
      /* Copies, as files linked from conda's own cache would be shared with that. */
      "export CONDA_ALWAYS_COPY=true MAMBA_ALWAYS_COPY=true CONDA_ALWAYS_YES=true\n"
      "case $ludwig_program in\n"
      "micromamba) exec micromamba create -y -q -p \"$LUDWIG_TO\" -f \"$LUDWIG_FILE\" \"$@\" ;;\n"
      "*) exec \"$ludwig_program\" env create -q -p \"$LUDWIG_TO\" -f \"$LUDWIG_FILE\" \"$@\" ;;\n"
      "esac\n" },
};

static const char find_program[] = "ludwig_program=\n"
                                   "for ludwig_x in $LUDWIG_PROGRAMS; do\n"
                                   "if command -v \"$ludwig_x\" >/dev/null 2>&1; then\n"
                                   "ludwig_program=$ludwig_x\n"
                                   "break\n"
                                   "fi\n"
                                   "done\n"
                                   "[ -n \"$ludwig_program\" ] || ludwig_fails environment"
                                   " \"$LUDWIG_LACKS\"\n";

/* Where the tools install themselves for one user. */
static const char *const usual_places[] = { ".local/bin",     ".cargo/bin",     "micromamba/bin",
                                            "miniforge3/bin", "miniconda3/bin", "anaconda3/bin" };
static const char default_path[] = "/usr/local/bin:/usr/bin:/bin";

static const struct tool *find_tool(const char *name)
{
    for (size_t i = 0; i < sizeof tools / sizeof tools[0]; i++)
        if (strcmp(tools[i].name, name) == 0)
            return &tools[i];
    return NULL;
}

static bool has_interpreter(const struct env_recipe *r)
{
    return r->interpreter != NULL && r->interpreter[0] != '\0';
}

static const char *programs_of(const struct tool *tool, const struct env_recipe *r)
{
    return tool->programs != NULL ? tool->programs
           : has_interpreter(r)   ? r->interpreter
                                  : "python3";
}

/* ---- what the tool is started with ---- */

static const char *tree_path(const struct env_build *b, const struct digest *tree, struct arena *a)
{
    char name[CACHE_NAME_BYTES];

    cache_name(tree, "", name);
    return arena_printf(a, "%s/%s", b->cache_dir_path, name);
}

static const char *host_name(struct arena *a)
{
    char host[HOST_NAME_MAX + 1] = "this machine";

    (void)gethostname(host, sizeof host - 1);
    return arena_strdup(a, host);
}

static const char *search_path(struct arena *a)
{
    const char *path = getenv("PATH"), *home = getenv("HOME");
    struct buf text = { 0 };

    buf_add_str(&text, path != NULL && path[0] != '\0' ? path : default_path);
    for (size_t i = 0; home != NULL && i < sizeof usual_places / sizeof usual_places[0]; i++)
        buf_printf(&text, ":%s/%s", home, usual_places[i]);
    buf_add_str(&text, ":/opt/conda/bin");
    return buf_to_arena(&text, a);
}

static const char *join(const struct list *texts, struct arena *a)
{
    const char *const *items = texts->items;
    struct buf text = { 0 };

    for (size_t i = 0; i < texts->n; i++)
        buf_printf(&text, "%s\n", items[i]);
    return buf_to_arena(&text, a);
}

static char **make_env(const struct env_build *b, const struct tool *tool, struct arena *a)
{
    static const char *const inherited[] = { "HOME=", "USER=", "LOGNAME=",    "SHELL=",
                                             "LANG=", "LC_",   "MODULEPATH=", "MODULESHOME=" };
    const struct env_recipe *r = b->recipe;
    const struct env_entry *own = r->variables.items;
    size_t n = 0, n_all = 16 + r->variables.n;
    char name[CACHE_NAME_BYTES], **env;
    const char *host = host_name(a), *programs = programs_of(tool, r);

    for (char **entry = environ; *entry != NULL; entry++)
        n_all++;
    env = arena_alloc(a, n_all * sizeof *env);
    for (char **entry = environ; *entry != NULL; entry++)
        for (size_t i = 0; i < sizeof inherited / sizeof inherited[0]; i++)
            if (strncmp(*entry, inherited[i], strlen(inherited[i])) == 0)
                env[n++] = arena_strdup(a, *entry);
    cache_name(&b->tree, CACHE_NEW, name);
    env[n++] = arena_printf(a, "PATH=%s", search_path(a));
    env[n++] = arena_printf(a, "TMPDIR=%s/%s/" TMP, b->cache_dir_path, name);
    env[n++] = arena_strdup(a, "NO_COLOR=1");
    env[n++] = arena_strdup(a, "TERM=dumb");
    env[n++] = arena_printf(a, BUILDS "=%s", tree_path(b, &b->tree, a));
    env[n++] = arena_printf(a, "LUDWIG_FILE=%s/%s", tree_path(b, &r->files, a), r->file);
    env[n++] = arena_printf(a, "LUDWIG_PYTHON=%s", has_interpreter(r) ? r->interpreter : "");
    env[n++] = arena_printf(a, "LUDWIG_OPTIONS=%s", join(&r->options, a));
    env[n++] = arena_printf(a, "LUDWIG_PROGRAMS=%s", programs);
    env[n++] = arena_printf(a, "LUDWIG_HOST=%s", host);
    env[n++] = arena_printf(a,
                            "LUDWIG_LACKS=%s %s not installed on %s, and the environment of %s is "
                            "built with %s",
                            programs, strchr(programs, ' ') != NULL ? "are" : "is", host,
                            path_basename(r->file), strchr(programs, ' ') != NULL ? "one" : "it");
    for (size_t i = 0; i < r->variables.n; i++)
        env[n++] = arena_printf(a, "%s=%s", own[i].name, own[i].value);
    env[n] = NULL;
    return env;
}

static char **make_words(const struct env_build *b, const struct tool *tool, const char *shell,
                         struct arena *a)
{
    const struct env_recipe *r = b->recipe;
    const char *const *modules = r->modules.items;
    char **words = arena_alloc(a, (r->modules.n + 11) * sizeof *words);
    const char *host = host_name(a);
    size_t n = 0;

    words[n++] = arena_strdup(a, shell);
    words[n++] = arena_strdup(a, "-c");
    words[n++] = arena_printf(a, "%s%s%s%s%s", begin, r->modules.n > 0 ? shell_modules_load : "",
                              find_program, take_options, tool->script);
    words[n++] = arena_strdup(a, shell);
    for (int i = 0; i < 4; i++)
        words[n++] = arena_strdup(a, "");
    words[n++] = arena_printf(a, "the sweep needs modules, as %s, and %s has no command `module`",
                              r->modules.n > 0 ? modules[0] : "", host);
    words[n++] = arena_printf(a, "%s could not load the module", host);
    for (size_t i = 0; i < r->modules.n; i++)
        words[n++] = arena_strdup(a, modules[i]);
    words[n] = NULL;
    return words;
}

/* ---- running it ---- */

/* Waits for the build.  Returns 0 with its wait status; 1: it took too long; -1: given up. */
static int wait_for(const struct env_build *b, pid_t pid, int *status, struct err *e)
{
    const struct timespec pause = { 0, PAUSE_NS };
    const int64_t ends_ms = units_monotonic_ms() + BUILD_MAX_MS;
    bool is_over = false, is_late = false;
    siginfo_t ended = { .si_pid = 0 };
    int rc;

    while ((rc = waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOHANG | WNOWAIT)) == 0
               ? ended.si_pid == 0
               : errno == EINTR) {
        is_over = is_over || (b->cache->is_over != NULL && b->cache->is_over(b->cache->context));
        is_late = units_monotonic_ms() > ends_ms;
        if (is_over || is_late)
            (void)kill(-pid, SIGKILL);
        nanosleep(&pause, NULL);
    }
    (void)kill(-pid, SIGKILL); /* what it left in the background */
    while (rc == 0 && waitpid(pid, status, 0) < 0 && errno == EINTR)
        continue;
    if (rc < 0)
        return err_sys(e, "wait for what builds an environment");
    if (is_over)
        return err_set(e, ERR_BUSY, "it was given up");
    return is_late;
}

/* This process ignores the end of its children otherwise (sftplink.h): others that end meanwhile
 * are waited for, too, so that no zombie stays. */
static int spawn_and_wait(const struct env_build *b, const struct job_spawn *p, int *status,
                          struct err *e)
{
    const struct sigaction waits = { .sa_handler = SIG_DFL };
    struct sigaction before;
    bool is_its_fault;
    pid_t pid = -1;
    int rc = -1;

    if (sigaction(SIGCHLD, &waits, &before) < 0)
        return err_sys(e, "wait for children");
    pid = job_spawn(p, &is_its_fault, e);
    if (pid > 0)
        rc = wait_for(b, pid, status, e);
    (void)sigaction(SIGCHLD, &before, NULL);
    while (before.sa_handler == SIG_IGN && waitpid(-1, NULL, WNOHANG) > 0)
        continue;
    return rc;
}

/* Runs the tool, with its output in the folder that is open at new_fd; returns as wait_for. */
static int run(const struct env_build *b, const struct tool *tool, int new_fd, int *status,
               struct err *e)
{
    static const struct list no_cpus = { NULL, 0 };
    struct arena *a = arena_create();
    const char *files = tree_path(b, &b->recipe->files, a);
    struct job_spawn p = { .cpus = &no_cpus, .group_fd = -1 };
    int rc = -1;

    p.shell = access("/bin/bash", X_OK) == 0 ? "/bin/bash" : "/bin/sh";
    p.env = make_env(b, tool, a);
    p.shell_words = make_words(b, tool, p.shell, a);
    p.work_fd = io_open_dir(files, e);
    p.in_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    p.log_fd = openat(new_fd, OUTPUT, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (p.work_fd >= 0 && (p.in_fd < 0 || p.log_fd < 0))
        err_sys(e, "open a file for the output of %s", tool->name);
    else if (p.work_fd >= 0)
        rc = spawn_and_wait(b, &p, status, e);
    if (p.work_fd >= 0)
        close(p.work_fd);
    if (p.in_fd >= 0)
        close(p.in_fd);
    if (p.log_fd >= 0)
        close(p.log_fd);
    arena_destroy(a);
    return rc;
}

/* Kills processes of a build whose stager was killed: they would go on writing. */
static void end_earlier(const struct env_build *b)
{
    const struct timespec pause = { 0, PAUSE_NS };
    struct arena *a = arena_create();
    const char *entry = arena_printf(a, BUILDS "=%s", tree_path(b, &b->tree, a));

    for (int i = 0; i < KILLS_MAX && process_tree_kill_with(entry) > 0; i++)
        nanosleep(&pause, NULL);
    arena_destroy(a);
}

/* ---- why it failed ---- */

/* Reads the end of what the tool printed, from the beginning of a line on. */
static void read_output(int new_fd, struct buf *text)
{
    int fd = openat(new_fd, OUTPUT, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    char *bytes = mem_alloc(OUTPUT_SHOWN_BYTES);
    struct stat st;

    if (fd >= 0 && fstat(fd, &st) == 0) {
        off_t from = st.st_size > OUTPUT_SHOWN_BYTES ? st.st_size - OUTPUT_SHOWN_BYTES : 0;
        ssize_t n = io_read_all_at(fd, bytes, OUTPUT_SHOWN_BYTES, (uint64_t)from);
        const char *line = from > 0 && n > 0 ? memchr(bytes, '\n', (size_t)n) : NULL;
        size_t skip = line == NULL ? 0 : (size_t)(line + 1 - bytes);

        for (ssize_t i = 0; i < n; i++)
            bytes[i] = bytes[i] == '\0' ? ' ' : bytes[i];
        if (n > 0)
            buf_add(text, bytes + skip, (size_t)n - skip);
    }
    if (fd >= 0)
        close(fd);
    free(bytes);
}

/* Returns the last line that says ERROR, as pip's do before its hints; else the last line. */
static const char *last_line(const char *text, struct arena *a)
{
    const char *last = NULL, *error = NULL;

    while (*text != '\0') {
        size_t n = strcspn(text, "\r\n");

        if (strspn(text, " \t") < n)
            last = arena_strndup(a, text, n);
        if (strncmp(text, "ERROR: ", 7) == 0)
            error = last;
        text += n + (text[n] != '\0');
    }
    return error != NULL ? error : last != NULL ? last : "it printed nothing";
}

static int note_failure(const struct env_build *b, const struct tool *tool, int new_fd, int status,
                        bool is_late, struct err *e)
{
    struct arena *a = arena_create();
    struct buf output = { 0 }, text = { 0 };
    char name[CACHE_NAME_BYTES];
    const char *line;
    int rc = 0;

    read_output(new_fd, &output);
    line = last_line(buf_text(&output), a);
    if (strstr(buf_text(&output), "No space left on device") != NULL ||
        strstr(buf_text(&output), "Disk quota exceeded") != NULL) {
        rc = err_set(e, ERR_NO_SPACE, "scratch was full before %s had built an environment: %s",
                     tool->name, line);
    } else {
        if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_LACKS)
            buf_printf(&text, "%s\n", line);
        else
            buf_printf(&text, "%s could not build the environment of %s%s: %s\n", host_name(a),
                       path_basename(b->recipe->file), is_late ? " within an hour" : "", line);
        buf_add_str(&text, buf_text(&output));
    }
    cache_name(&b->tree, CACHE_FAILED, name);
    if (rc == 0)
        rc = io_write_file_at(b->cache->fd, name, text.bytes, text.n, 0600, e);
    buf_free(&output);
    buf_free(&text);
    arena_destroy(a);
    return rc;
}

/* ---- its record ---- */

struct listing {
    struct cache_row *rows;
    size_t n, capacity;
    struct buf names;
    int64_t files, bytes;
};

/* Fills in a file's row.  The file becomes read-only, unless another folder has it, too. */
static int read_file(int dir_fd, const char *name, struct stat *st, struct cache_row *row,
                     struct err *e)
{
    mode_t mode = st->st_mode & 0111 ? CACHE_PROGRAM : CACHE_FILE;
    int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    int rc = fd < 0 ? err_sys(e, "open %s", name) : 0;

    row->kind = mode == CACHE_PROGRAM ? PACK_PROGRAM : PACK_FILE;
    row->size = (uint64_t)st->st_size;
    if (rc == 0 && st->st_nlink == 1 && fchmod(fd, mode) < 0)
        rc = err_sys(e, "protect %s", name);
    if (rc == 0)
        rc = record_content_of(fd, row->size, &row->content, e);
    if (rc == 0 && fstat(fd, st) < 0)
        rc = err_sys(e, "look at %s", name);
    if (fd >= 0)
        close(fd);
    return rc;
}

static int list_folder(struct listing *l, int parent_fd, const char *name, const char *path,
                       struct err *e);

static int list_entry(struct listing *l, int dir_fd, const char *name, const char *path,
                      struct err *e)
{
    struct cache_row row = { .path_at = l->names.n };
    struct stat st;
    int rc = 0;

    if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return err_sys(e, "look at %s", path);
    if (S_ISDIR(st.st_mode))
        row.kind = PACK_FOLDER;
    else if (S_ISLNK(st.st_mode))
        row.kind = PACK_SYMLINK;
    else if (S_ISREG(st.st_mode))
        rc = read_file(dir_fd, name, &st, &row, e);
    else
        return 0;
    if (rc < 0)
        return -1;
    row_take(&row, &st);
    buf_add(&l->names, path, strlen(path) + 1);
    mem_grow((void **)&l->rows, &l->capacity, l->n, sizeof *l->rows);
    l->rows[l->n++] = row;
    l->files += row.kind != PACK_FOLDER;
    l->bytes += (int64_t)row.size;
    return row.kind == PACK_FOLDER ? list_folder(l, dir_fd, name, path, e) : 0;
}

static int list_folder(struct listing *l, int parent_fd, const char *name, const char *path,
                       struct err *e)
{
    DIR *dir = io_list_dir_at(parent_fd, name, e);
    const struct dirent *entry;
    int rc = dir == NULL ? -1 : 0;

    while (rc == 0) {
        char *below;

        errno = 0;
        entry = readdir(dir);
        if (entry == NULL) {
            rc = errno == 0 ? 0 : err_sys(e, "list %s", path[0] == '\0' ? "." : path);
            break;
        }
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        below = path[0] == '\0' ? mem_strdup(entry->d_name) : path_join(path, entry->d_name);
        rc = list_entry(l, dirfd(dir), entry->d_name, below, e);
        free(below);
    }
    if (dir != NULL)
        closedir(dir);
    return rc;
}

/* Returns a digest of what the environment was built with: the machine's kind, the program that its
 * python links to and, with pip and no modules, the program that would be taken now. */
static struct digest identity_of(const struct env_build *b)
{
    struct arena *a = arena_create();
    const char *word = programs_of(find_tool(b->recipe->tool), b->recipe), *found = NULL;
    const char *tree = tree_path(b, &b->tree, a);
    char *real = path_real(arena_printf(a, "%s/bin/python", tree), NULL);
    size_t n = strlen(tree);
    struct buf text = { 0 };
    struct digest identity;
    struct utsname machine;
    struct stat st;

    if (uname(&machine) == 0)
        buf_printf(&text, "%s\n", machine.machine);
    if (real != NULL && (strncmp(real, tree, n) != 0 || real[n] != '/') && stat(real, &st) == 0)
        buf_printf(&text, "%s %lld %lld\n", real, (long long)st.st_size,
                   (long long)units_ns(&st.st_mtim));
    free(real);
    if (strcmp(b->recipe->tool, "pip") == 0 && b->recipe->modules.n == 0)
        found = job_spawn_program(word, search_path(a), a);
    real = found != NULL ? path_real(found, NULL) : NULL;
    if (real != NULL)
        buf_printf(&text, "%s\n", real);
    free(real);
    digest_of(text.bytes, text.n, &identity);
    buf_free(&text);
    arena_destroy(a);
    return identity;
}

bool env_build_is_current(const struct env_build *b)
{
    struct digest identity;
    struct record r;
    bool is_same;

    if (find_tool(b->recipe->tool) == NULL)
        return false; /* a tool of a newer version */
    identity = identity_of(b);
    if (!record_open(&r, b->cache->fd, &b->tree))
        return false;
    is_same = digest_equal(&r.head->id, &identity);
    record_close(&r);
    return is_same;
}

static int write_record(const struct env_build *b, struct err *e)
{
    struct record_head head = { .tree = b->tree, .id = identity_of(b) };
    struct cache_need need = { .tree = b->tree };
    struct listing l = { .n = 0 };
    char name[CACHE_NAME_BYTES];
    struct stat st;
    int rc;

    cache_name(&b->tree, "", name);
    rc = list_folder(&l, b->cache->fd, name, "", e);
    if (rc == 0 && fstatat(b->cache->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        rc = err_sys(e, "look at %s", name);
    if (rc == 0) {
        head.files = l.files;
        head.bytes = l.bytes;
        head.n_rows = l.n;
        head.top_mtime_ns = units_ns(&st.st_mtim);
        need.tree_bytes = (uint64_t)l.bytes;
        rc = cache_make_room(b->cache, &need, e);
    }
    if (rc == 0)
        rc = record_write(b->cache->fd, &head, l.rows, buf_bytes(&l.names), e);
    buf_free(&l.names);
    free(l.rows);
    return rc;
}

/* ---- all of it ---- */

/* Makes and opens the folder for what the tool writes beside the environment; -1 with e set. */
static int make_new(const struct env_build *b, struct err *e)
{
    char name[CACHE_NAME_BYTES];
    int fd = -1;

    cache_name(&b->tree, CACHE_NEW, name);
    if (mkdirat(b->cache->fd, name, 0700) < 0)
        return err_sys(e, "create %s", name);
    fd = io_open_dir_at(b->cache->fd, name, e);
    if (fd >= 0 && mkdirat(fd, TMP, 0700) < 0) {
        err_sys(e, "create %s/" TMP, name);
        close(fd);
        fd = -1;
    }
    return fd;
}

int env_build(const struct env_build *b, struct err *e)
{
    const struct cache_need need = { .tree = b->tree, .bytes = ROOM_AT_LEAST_BYTES, .files = 1000 };
    const struct tool *tool = find_tool(b->recipe->tool);
    char name[CACHE_NAME_BYTES];
    int new_fd = -1, status = 0, rc;

    if (tool == NULL)
        return err_set(e, ERR_PROTOCOL, "environment: this version knows no tool '%s'",
                       b->recipe->tool);
    end_earlier(b);
    if (cache_make_room(b->cache, &need, e) < 0 || cache_remove(b->cache->fd, &b->tree, e) < 0)
        return -1;
    new_fd = make_new(b, e);
    rc = new_fd < 0 ? -1 : run(b, tool, new_fd, &status, e);
    if (rc == 1 || (rc == 0 && (!WIFEXITED(status) || WEXITSTATUS(status) != 0)))
        rc = note_failure(b, tool, new_fd, status, rc == 1, e) < 0 ? -1 : 1;
    else if (rc == 0)
        rc = write_record(b, e);
    if (new_fd >= 0)
        close(new_fd);
    cache_name(&b->tree, CACHE_NEW, name);
    (void)io_remove_tree_at(b->cache->fd, name, NULL);
    if (rc != 0) {
        cache_name(&b->tree, "", name);
        (void)io_remove_tree_at(b->cache->fd, name, NULL);
    }
    return rc;
}
