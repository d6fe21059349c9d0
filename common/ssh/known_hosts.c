/* SPDX-License-Identifier: MIT */
/* known_hosts.c - looks up a host and its key in files of known hosts */
#include <ctype.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/ssh/known_hosts.h"

enum { SHA1_BYTES = 20, SHA1_BASE64_BYTES = 28 };

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

/* Whether "|1|SALT|HASH" is the hash of this host. */
static bool is_hash_of(const char *hashed, const char *host)
{
    const unsigned char *text = (const unsigned char *)hashed + 3;
    unsigned char salt[SHA1_BASE64_BYTES], wanted[SHA1_BASE64_BYTES], made[EVP_MAX_MD_SIZE];
    char *lower = mem_strdup(host);
    unsigned n = 0;
    bool is;

    for (char *p = lower; *p != '\0'; p++)
        *p = (char)tolower((unsigned char)*p);
    is = strlen(hashed) == 3 + 2 * SHA1_BASE64_BYTES + 1 && text[SHA1_BASE64_BYTES] == '|' &&
         EVP_DecodeBlock(salt, text, SHA1_BASE64_BYTES) >= SHA1_BYTES &&
         EVP_DecodeBlock(wanted, text + SHA1_BASE64_BYTES + 1, SHA1_BASE64_BYTES) >= SHA1_BYTES &&
         HMAC(EVP_sha1(), salt, SHA1_BYTES, (const unsigned char *)lower, strlen(lower), made,
              &n) != NULL &&
         n == SHA1_BYTES && memcmp(made, wanted, SHA1_BYTES) == 0;
    free(lower);
    return is;
}

/* names: "a,*.b,!c.b"; a pattern behind ! outweighs all others. */
bool known_hosts_match(const char *names, const char *host)
{
    bool is = false;

    if (strncmp(names, "|1|", 3) == 0)
        return is_hash_of(names, host);
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

/* ---- files ---- */

struct line {
    const char *marker; /* "@revoked", or NULL */
    const char *names, *type, *blob;
    char *text; /* the line, with the words above */
    size_t capacity;
};

/* Reads on to the next line with a key. */
static bool next_line(FILE *f, struct line *l)
{
    static const char blanks[] = " \t\r\n";

    while (getline(&l->text, &l->capacity, f) > 0) {
        char *save = NULL, *word = strtok_r(l->text, blanks, &save);

        if (word == NULL || word[0] == '#')
            continue;
        l->marker = word[0] == '@' ? word : NULL;
        l->names = word[0] == '@' ? strtok_r(NULL, blanks, &save) : word;
        l->type = strtok_r(NULL, blanks, &save);
        l->blob = strtok_r(NULL, blanks, &save);
        if (l->blob != NULL)
            return true;
    }
    return false;
}

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

struct known_answer known_hosts_ask(const struct list *files, const struct known_key *key)
{
    const char *const *paths = files->items;
    struct known_answer answer = { KNOWN_NOT, NULL };
    struct line l = { 0 };

    for (size_t i = 0; i < files->n; i++) {
        FILE *f = fopen(paths[i], "re");

        while (f != NULL && next_line(f, &l)) {
            enum known_verdict verdict = verdict_of(&l, key);

            if (verdict > answer.verdict)
                answer = (struct known_answer){ verdict, paths[i] };
        }
        if (f != NULL)
            fclose(f);
    }
    free(l.text);
    return answer;
}

void known_hosts_types(const struct list *files, const char *host, struct buf *out)
{
    const char *const *paths = files->items;
    struct line l = { 0 };

    for (size_t i = 0; i < files->n; i++) {
        FILE *f = fopen(paths[i], "re");

        while (f != NULL && next_line(f, &l))
            if (l.marker == NULL && known_hosts_match(l.names, host))
                buf_printf(out, "%s,", l.type);
        if (f != NULL)
            fclose(f);
    }
    free(l.text);
}
