/* SPDX-License-Identifier: MIT */
/* source_kind.c - recognizes files in a program's folder that are no part of the program */
#include "client/pack/source_kind.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/spec/spec.h"
#include "common/base/io.h"
#include "common/base/path.h"
#include "common/data/yaml.h"
#include "common/proto/layout.h"

/* Larger files are not looked into. */
enum { SWEEP_FILE_MAX_BYTES = 1024 * 1024 };

/* Whether a file is a sweep file: it has command:, and no key that a sweep file cannot have. */
static bool is_sweep_map(const struct yaml_node *root)
{
    if (root->type != VALUE_MAP || yaml_get(root, "command") == NULL)
        return false;
    for (size_t i = 0; i < root->n; i++) {
        const struct key *key = spec_keys;

        while (key->name != NULL && strcmp(key->name, root->members[i].key) != 0)
            key++;
        if (key->name == NULL && strncmp(root->members[i].key, "x-", 2) != 0)
            return false;
    }
    return true;
}

static bool is_sweep_file(const char *path)
{
    const char *dot = strrchr(path_basename(path), '.');
    struct buf text = { 0 };
    struct stat st;
    bool is_sweep = false;

    if (dot == NULL || (strcmp(dot, ".yaml") != 0 && strcmp(dot, ".yml") != 0))
        return false;
    if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= SWEEP_FILE_MAX_BYTES &&
        io_read_file(path, SWEEP_FILE_MAX_BYTES, &text, NULL) == 0) {
        struct arena *a = arena_create();
        const struct yaml_node *root = yaml_parse(path, buf_text(&text), text.n, a, NULL);

        is_sweep = root != NULL && is_sweep_map(root);
        arena_destroy(a);
    }
    buf_free(&text);
    return is_sweep;
}

/* Whether ludwig wrote the file for a browser, a paper or Optuna: its beginning says so. */
static bool is_of_ludwig(const char *path)
{
    static const struct {
        const char *suffix, *mark;
    } forms[] = {
        { ".html", "<meta name=\"generator\" content=\"ludwig\">" },
        { ".svg", "<!-- drawn by ludwig -->" },
        { ".pdf", " drawn by ludwig\n" },
        { ".png", "drawn by ludwig" },
        { ".log", "{\"op_code\":0,\"worker_id\":\"ludwig\"" },
    };
    const char *dot = strrchr(path_basename(path), '.');
    char begin[512];
    bool is_found = false;

    for (size_t i = 0; dot != NULL && i < sizeof forms / sizeof forms[0] && !is_found; i++) {
        ssize_t n;
        int fd;

        if (strcmp(dot, forms[i].suffix) != 0)
            continue;
        fd = open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
        n = fd < 0 ? 0 : io_read_all(fd, begin, sizeof begin);
        is_found = n > 0 && memmem(begin, (size_t)n, forms[i].mark, strlen(forms[i].mark)) != NULL;
        if (fd >= 0)
            close(fd);
    }
    return is_found;
}

static bool has(const char *folder, const char *name)
{
    char *path = path_join(folder, name);
    bool is_there = access(path, F_OK) == 0;

    free(path);
    return is_there;
}

static const char *kind_of_folder(const char *from, const char *path)
{
    static const struct {
        const char *name, *what;
        bool is_at_top; /* deeper down it may be a package of the program's */
    } folders[] = {
        { ".venv", "an environment", false },
        { "venv", "an environment", false },
        { ".tox", "environments", false },
        { ".nox", "environments", false },
        { ".pixi", "environments", false },
        { "node_modules", "packages", false },
        { ".idea", "settings of an editor", false },
        { ".vscode", "settings of an editor", false },
        { "wandb", "written by runs", true },
        { "mlruns", "written by runs", true },
        { "outputs", "written by runs", true },
        { "multirun", "written by runs", true },
        { "lightning_logs", "written by runs", true },
    };
    const char *name = path_basename(path);

    if (has(from, LAYOUT_FETCHED))
        return "fetched results";
    if (has(from, "pyvenv.cfg") || has(from, "conda-meta"))
        return "an environment";
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        if (strcmp(folders[i].name, name) == 0 &&
            (!folders[i].is_at_top || (name == path && !has(from, "__init__.py"))))
            return folders[i].what;
    return NULL;
}

const char *source_kind(const char *from, const char *path, bool is_folder)
{
    if (is_folder)
        return kind_of_folder(from, path);
    if (strchr(path, '/') != NULL)
        return NULL;
    return is_sweep_file(from) ? "a sweep file" : is_of_ludwig(from) ? "written by ludwig" : NULL;
}

static bool matches(const char *pattern, const char *path, bool is_folder)
{
    size_t n = strlen(pattern);
    bool is_of_folders = n > 0 && pattern[n - 1] == '/', is_match;
    char *bare = mem_strndup(pattern, n - is_of_folders);

    is_match = (is_folder || !is_of_folders) &&
               (strchr(bare, '/') != NULL ? fnmatch(bare, path, FNM_PATHNAME)
                                          : fnmatch(bare, path_basename(path), 0)) == 0;
    free(bare);
    return is_match;
}

bool source_kind_matches(const char *const *patterns, size_t n, const char *path, bool is_folder)
{
    bool is_match = false;

    for (const char *end = path; !is_match && *end != '\0';) {
        char *above;

        end += strspn(end, "/");
        end += strcspn(end, "/");
        above = mem_strndup(path, (size_t)(end - path));
        for (size_t i = 0; i < n && !is_match; i++)
            is_match = matches(patterns[i], above, is_folder || *end != '\0');
        free(above);
    }
    return is_match;
}
