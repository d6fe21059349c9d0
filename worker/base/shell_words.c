/* SPDX-License-Identifier: MIT */
/* shell_words.c - splits commands that need no shell */

#include "worker/base/shell_words.h"

#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_plain(char c)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./:,+@%=";

    return c != '\0' && strchr(plain, c) != NULL;
}

/* Reserved words and builtins of dash, bash and POSIX. */
static bool is_shells_own(const char *word)
{
    static const char *const own[] = {
        ".",        ":",       "[",       "alias",  "bg",      "bind",     "break",    "builtin",
        "caller",   "case",    "cd",      "chdir",  "command", "compgen",  "complete", "compopt",
        "continue", "coproc",  "declare", "dirs",   "disown",  "do",       "done",     "echo",
        "elif",     "else",    "enable",  "esac",   "eval",    "exec",     "exit",     "export",
        "false",    "fc",      "fg",      "fi",     "for",     "function", "getopts",  "hash",
        "help",     "history", "if",      "in",     "jobs",    "kill",     "let",      "local",
        "logout",   "mapfile", "popd",    "printf", "pushd",   "pwd",      "read",     "readarray",
        "readonly", "return",  "select",  "set",    "shift",   "shopt",    "source",   "suspend",
        "test",     "then",    "time",    "times",  "trap",    "true",     "type",     "typeset",
        "ulimit",   "umask",   "unalias", "unset",  "until",   "wait",     "while",
    };

    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (strcmp(word, own[i]) == 0)
            return true;
    return false;
}

/* Copies one word to *to and moves *from behind it; false when it needs a shell. */
static bool take_word(const char **from, char **to)
{
    const char *at = *from;

    while (*at != '\0' && !is_blank(*at)) {
        if (*at == '\'') {
            const char *end = strchr(at + 1, '\'');

            if (end == NULL)
                return false;
            memcpy(*to, at + 1, (size_t)(end - at - 1));
            *to += end - at - 1;
            at = end + 1;
        } else if (is_plain(*at)) {
            *(*to)++ = *at++;
        } else {
            return false;
        }
    }
    *(*to)++ = '\0';
    *from = at;
    return true;
}

char **shell_words_split(const char *command, struct arena *a)
{
    char **words = arena_alloc(a, (strlen(command) / 2 + 2) * sizeof *words);
    char *to = arena_alloc(a, strlen(command) + 1);
    size_t n = 0;

    for (const char *at = command + strspn(command, " \t"); *at != '\0'; at += strspn(at, " \t")) {
        words[n++] = to;
        if (!take_word(&at, &to))
            return NULL;
    }
    if (n == 0 || words[0][0] == '\0' || strchr(words[0], '=') != NULL || is_shells_own(words[0]))
        return NULL;
    return words;
}

static bool is_program(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

const char *shell_words_program(const char *word, const char *path, struct arena *a)
{
    if (strchr(word, '/') != NULL)
        return word;
    while (path != NULL && *path != '\0') {
        size_t n = strcspn(path, ":");
        const char *candidate = arena_printf(a, "%.*s/%s", (int)n, path, word);

        if (n > 0 && path[0] == '/' && is_program(candidate))
            return candidate;
        path += n + (path[n] == ':');
    }
    return NULL;
}
