/* SPDX-License-Identifier: MIT */
/* known_hosts.c - what files of known hosts say of a host and its key */
#include <ctype.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/ssh/known_hosts.h"

enum { SHA1_BYTES = 20, HASHED_MAX_BYTES = 64 };

/* ---- names ---- */

static bool is_like(const char *pattern, size_t n, const char *text)
{
    if (n == 0)
        return *text == '\0';
    if (*pattern == '*')
        return is_like(pattern + 1, n - 1, text) ||
               (*text != '\0' && is_like(pattern, n, text + 1));
    if (*text == '\0')
        return false;
    return (*pattern == '?' || tolower((unsigned char)*pattern) == tolower((unsigned char)*text)) &&
           is_like(pattern + 1, n - 1, text + 1);
}

/* "a,*.b,!c.b": a pattern behind ! outweighs all others. */
static bool is_in_list(const char *names, const char *host)
{
    bool is = false;

    while (*names != '\0') {
        size_t n = strcspn(names, ",");
        bool is_negated = names[0] == '!';

        if (is_like(names + is_negated, n - is_negated, host)) {
            if (is_negated)
                return false;
            is = true;
        }
        names += n + (names[n] == ',');
    }
    return is;
}

/* SHA1_BYTES from base64. */
static bool decode(const char *text, size_t n, unsigned char *to)
{
    unsigned char block[HASHED_MAX_BYTES], input[HASHED_MAX_BYTES];

    if (n != (SHA1_BYTES + 2) / 3 * 4)
        return false;
    memcpy(input, text, n);
    if (EVP_DecodeBlock(block, input, (int)n) < SHA1_BYTES)
        return false;
    memcpy(to, block, SHA1_BYTES);
    return true;
}

/* "|1|SALT|HASH" */
static bool is_hash_of(const char *hashed, const char *host)
{
    unsigned char salt[SHA1_BYTES], wanted[SHA1_BYTES], made[EVP_MAX_MD_SIZE];
    const char *bar = strchr(hashed + 3, '|');
    unsigned n = 0;

    return bar != NULL && decode(hashed + 3, (size_t)(bar - hashed - 3), salt) &&
           decode(bar + 1, strlen(bar + 1), wanted) &&
           HMAC(EVP_sha1(), salt, sizeof salt, (const unsigned char *)host, strlen(host), made,
                &n) != NULL &&
           n == SHA1_BYTES && memcmp(made, wanted, SHA1_BYTES) == 0;
}

static char *lowercase(const char *text)
{
    char *copy = mem_strdup(text);

    for (char *p = copy; *p != '\0'; p++)
        *p = (char)tolower((unsigned char)*p);
    return copy;
}

bool known_hosts_match(const char *names, const char *host)
{
    char *lower = lowercase(host);
    bool is = strncmp(names, "|1|", 3) == 0 ? is_hash_of(names, lower) : is_in_list(names, lower);

    free(lower);
    return is;
}

/* ---- lines ---- */

struct line {
    const char *marker; /* "@revoked", or NULL */
    const char *names, *type, *blob;
};

/* Takes text apart in place. */
static bool split(char *text, struct line *l)
{
    static const char blanks[] = " \t\r\n";
    char *save = NULL, *word = strtok_r(text, blanks, &save);

    *l = (struct line){ NULL, NULL, NULL, NULL };
    if (word == NULL || word[0] == '#')
        return false;
    if (word[0] == '@') {
        l->marker = word;
        word = strtok_r(NULL, blanks, &save);
    }
    l->names = word;
    l->type = strtok_r(NULL, blanks, &save);
    l->blob = strtok_r(NULL, blanks, &save);
    return l->blob != NULL;
}

typedef void (*line_fn)(void *context, const struct line *l);

static void each_line(const char *path, line_fn take, void *context)
{
    FILE *f = fopen(path, "re");
    char *text = NULL;
    size_t capacity = 0;
    struct line l;

    if (f == NULL)
        return;
    while (getline(&text, &capacity, f) > 0)
        if (split(text, &l))
            take(context, &l);
    free(text);
    fclose(f);
}

/* ---- keys ---- */

struct question {
    const struct known_key *key;
    enum known_verdict verdict;
};

static enum known_verdict verdict_of(const struct line *l, const struct known_key *key)
{
    bool is_same = strcmp(l->type, key->type) == 0 && strcmp(l->blob, key->blob) == 0;

    if (l->marker != NULL)
        return is_same && strcmp(l->marker, "@revoked") == 0 ? KNOWN_REVOKED : KNOWN_NOT;
    if (!known_hosts_match(l->names, key->host))
        return KNOWN_NOT;
    if (is_same)
        return KNOWN_YES;
    return strcmp(l->type, key->type) == 0 ? KNOWN_CHANGED : KNOWN_OTHER_TYPE;
}

static void take_key(void *context, const struct line *l)
{
    struct question *q = context;
    enum known_verdict verdict = verdict_of(l, q->key);

    if (verdict > q->verdict)
        q->verdict = verdict;
}

struct known_answer known_hosts_ask(const struct list *files, const struct known_key *key)
{
    const char *const *paths = files->items;
    struct known_answer answer = { KNOWN_NOT, NULL };

    for (size_t i = 0; i < files->n; i++) {
        struct question q = { key, KNOWN_NOT };

        each_line(paths[i], take_key, &q);
        if (q.verdict > answer.verdict)
            answer = (struct known_answer){ q.verdict, paths[i] };
    }
    return answer;
}

struct types {
    const char *host;
    struct buf *out;
};

static void take_type(void *context, const struct line *l)
{
    const struct types *t = context;

    if (l->marker == NULL && known_hosts_match(l->names, t->host))
        buf_printf(t->out, "%s,", l->type);
}

void known_hosts_types(const struct list *files, const char *host, struct buf *out)
{
    const char *const *paths = files->items;
    struct types t = { host, out };

    for (size_t i = 0; i < files->n; i++)
        each_line(paths[i], take_type, &t);
}
