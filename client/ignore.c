/* SPDX-License-Identifier: MIT */
/* ignore.c - which files of a folder are no part of the program */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/ignore.h"
#include "common/buf.h"
#include "common/io.h"
#include "common/layout.h"
#include "common/mem.h"
#include "common/path.h"

enum { RULES_MAX_BYTES = 1024 * 1024 };

struct rule {
    char *pattern;
    size_t n_base; /* bytes of a path up to the folder that the rule stands in, with its / */
    bool takes_back;
    bool only_dirs;
    bool anchored;  /* the whole path below the base; else the last name alone */
    bool is_plain;  /* nothing in the pattern has a meaning */
    bool is_ending; /* nothing but a * at its beginning has */
    bool is_exact;  /* its last name is no pattern, or a built-in one */
    size_t n_ending;
};

struct ignore {
    const char *file_name; /* NULL: read none */
    struct rule *rules;    /* later ones win; the built-in ones come first */
    size_t n, capacity, n_built_in;
};

static const char *const built_in[] = {
    ".git",          ".hg/",
    ".svn/",         ".gitignore",
    ".ludwigignore", "__pycache__/",
    ".mypy_cache/",  ".DS_Store",
    "._*",           ".pytest_cache/",
    ".ruff_cache/",  ".nfs*",
    "*.swp",         ".ipynb_checkpoints/",
    LAYOUT_FETCHED,
};

/* Ends the line at its spaces, which are not all blanks; "\ " keeps one. */
static size_t trimmed(const char *line, size_t n)
{
    while (n > 0 && (line[n - 1] == ' ' || line[n - 1] == '\r')) {
        if (n > 1 && line[n - 2] == '\\')
            break;
        n--;
    }
    return n;
}

static bool is_plain(const char *pattern)
{
    return pattern[strcspn(pattern, "*?[\\")] == '\0';
}

static bool is_exact(const char *name)
{
    for (size_t i = 0; i < sizeof built_in / sizeof built_in[0]; i++)
        if (strcmp(built_in[i], name) == 0)
            return true;
    return is_plain(name);
}

static void add_rule(struct ignore *ig, size_t n_base, const char *line, size_t n)
{
    struct rule rule = { .n_base = n_base };

    n = trimmed(line, n);
    if (n == 0 || line[0] == '#')
        return;
    if (line[0] == '!') {
        rule.takes_back = true;
        line++;
        n--;
    }
    if (n > 0 && line[n - 1] == '/') {
        rule.only_dirs = true;
        n--;
    }
    rule.anchored = memchr(line, '/', n) != NULL;
    if (n > 0 && line[0] == '/') {
        line++;
        n--;
    }
    if (n == 0)
        return;
    rule.pattern = mem_strndup(line, n);
    rule.is_plain = is_plain(rule.pattern);
    rule.is_ending = rule.pattern[0] == '*' && is_plain(rule.pattern + 1);
    rule.is_exact = is_exact(path_basename(rule.pattern));
    rule.n_ending = strlen(rule.pattern + 1);
    mem_grow((void **)&ig->rules, &ig->capacity, ig->n, sizeof *ig->rules);
    ig->rules[ig->n++] = rule;
}

static void add_rules(struct ignore *ig, size_t n_base, const char *text)
{
    while (*text != '\0') {
        size_t n = strcspn(text, "\n");

        add_rule(ig, n_base, text, n);
        text += n + (text[n] == '\n');
    }
}

static size_t base_of(const char *dir)
{
    size_t n = strlen(dir);

    return n > 0 && dir[n - 1] == '/' ? n : n + 1;
}

int ignore_enter(struct ignore *ig, const char *dir, size_t *mark, struct err *e)
{
    struct buf text = { 0 };
    struct err why = { 0 };
    char *path;

    *mark = ig->n;
    if (ig->file_name == NULL)
        return 0;
    path = path_join(dir, ig->file_name);
    if (io_read_file(path, RULES_MAX_BYTES, &text, &why) == 0)
        add_rules(ig, base_of(dir), buf_text(&text));
    buf_free(&text);
    free(path);
    if (why.kind == ERR_NONE || why.kind == ERR_NOT_FOUND)
        return 0;
    return err_set(e, why.kind, "%s", why.text);
}

void ignore_leave(struct ignore *ig, size_t mark)
{
    while (ig->n > mark)
        free(ig->rules[--ig->n].pattern);
}

static bool has(const char *dir, const char *name)
{
    char *path = path_join(dir, name);
    bool found = access(path, F_OK) == 0;

    free(path);
    return found;
}

/* The folders above root whose rules hold: from the top of the repository down. */
static int enter_above(struct ignore *ig, const char *dir, struct err *e)
{
    char *parent = path_dirname(dir);
    int result = 0;
    size_t mark;

    if (!has(dir, ".git") && strcmp(parent, dir) != 0) {
        result = enter_above(ig, parent, e);
        if (result == 0)
            result = ignore_enter(ig, parent, &mark, e);
    }
    free(parent);
    return result;
}

static bool is_in_repository(const char *dir)
{
    char *parent = path_dirname(dir);
    bool found = has(dir, ".git") || (strcmp(parent, dir) != 0 && is_in_repository(parent));

    free(parent);
    return found;
}

struct ignore *ignore_create(const char *root, bool own_rules, struct err *e)
{
    struct ignore *ig = mem_alloc(sizeof *ig);

    for (size_t i = 0; i < sizeof built_in / sizeof built_in[0]; i++)
        add_rule(ig, base_of(root), built_in[i], strlen(built_in[i]));
    ig->n_built_in = ig->n;
    if (!own_rules)
        return ig;
    ig->file_name = has(root, ".ludwigignore") ? ".ludwigignore" : ".gitignore";
    if (strcmp(ig->file_name, ".gitignore") == 0 && is_in_repository(root) &&
        enter_above(ig, root, e) < 0) {
        ignore_destroy(ig);
        return NULL;
    }
    return ig;
}

void ignore_destroy(struct ignore *ig)
{
    if (ig == NULL)
        return;
    ignore_leave(ig, 0);
    free(ig->rules);
    free(ig);
}

/* One name of a path, without slashes in either. */
static bool matches_name(const char *pattern, size_t n_pattern, const char *name, size_t n_name)
{
    char *p = mem_strndup(pattern, n_pattern), *s = mem_strndup(name, n_name);
    bool matches = fnmatch(p, s, 0) == 0;

    free(s);
    free(p);
    return matches;
}

static bool matches_path(const char *pattern, const char *path);

/* What is left of pattern behind "**" + "/", against path and each folder's content below. */
static bool matches_deeper(const char *pattern, const char *path)
{
    for (;;) {
        if (matches_path(pattern, path))
            return true;
        path = strchr(path, '/');
        if (path == NULL)
            return false;
        path++;
    }
}

static bool matches_path(const char *pattern, const char *path)
{
    size_t n = strcspn(pattern, "/"), n_name = strcspn(path, "/");

    if (n == 2 && strncmp(pattern, "**", 2) == 0)
        return pattern[n] == '\0' || matches_deeper(pattern + n + 1, path);
    if (!matches_name(pattern, n, path, n_name))
        return false;
    if (pattern[n] == '\0' || path[n_name] == '\0')
        return pattern[n] == path[n_name];
    return matches_path(pattern + n + 1, path + n_name + 1);
}

/* As fnmatch, which is slow, and asked about every file. */
static bool matches(const struct rule *rule, const char *name)
{
    size_t n_name;

    if (rule->is_plain)
        return strcmp(rule->pattern, name) == 0;
    if (!rule->is_ending)
        return fnmatch(rule->pattern, name, 0) == 0;
    n_name = strlen(name);
    return n_name >= rule->n_ending &&
           strcmp(name + n_name - rule->n_ending, rule->pattern + 1) == 0;
}

static bool rule_matches(const struct rule *rule, const char *path, bool is_dir)
{
    if (rule->only_dirs && !is_dir)
        return false;
    if (rule->anchored)
        return matches_path(rule->pattern, path + rule->n_base);
    return matches(rule, path_basename(path));
}

/* The last of the first n rules that matches; NULL: none. */
static const struct rule *last_match(const struct ignore *ig, size_t n, const char *path,
                                     bool is_dir)
{
    while (n > 0)
        if (rule_matches(&ig->rules[--n], path, is_dir))
            return &ig->rules[n];
    return NULL;
}

/* Who takes back all folders, or all that is hidden, does not mean .git. */
bool ignore_matches(const struct ignore *ig, const char *path, bool is_dir)
{
    const struct rule *rule = last_match(ig, ig->n, path, is_dir);

    if (rule != NULL && rule->takes_back && !rule->is_exact)
        rule = last_match(ig, ig->n_built_in, path, is_dir);
    return rule != NULL && !rule->takes_back;
}
