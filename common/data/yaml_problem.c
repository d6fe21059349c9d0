/* SPDX-License-Identifier: MIT */
/* yaml_problem.c - what libyaml could not read, in words for people */
#include <string.h>

#include "common/base/mem.h"
#include "common/base/utf8.h"
#include "common/data/yaml_problem.h"

struct yaml_problem yaml_problem_at(const char *text, size_t n, size_t offset, const char *what)
{
    struct yaml_problem at = { 1, 1, mem_strdup(what) };

    for (size_t i = 0; i < offset && i < n; i++) {
        if (text[i] == '\n') {
            at.line++;
            at.column = 1;
        } else if (utf8_begins(text[i])) {
            at.column++;
        }
    }
    return at;
}

/* What libyaml says, what we say instead, and whether the place where it began tells more. */
static const struct {
    const char *problem;
    const char *words;
    bool at_beginning;
} problems[] = {
    { "mapping values are not allowed in this context",
      "a ':' cannot stand here (quote values that contain one)", false },
    { "could not find expected ':'", "expected 'key: value'", true },
    { "did not find expected key", "expected a key, indented as those above", false },
    { "did not find expected '-' indicator", "expected '- ', indented as those above", false },
    { "found unexpected end of stream", "this quoted text does not end", true },
    { "found unexpected document indicator", "this quoted text does not end", true },
    { "did not find expected ',' or ']'", "expected ',' or ']'", false },
    { "did not find expected ',' or '}'", "expected ',' or '}'", false },
    { "block sequence entries are not allowed in this context", "a '- ' cannot stand here", false },
    { "block mapping entries are not allowed in this context", "a 'key: value' cannot stand here",
      false },
    { "did not find expected <document start>", "more than one value in the file", false },
    { "found unknown escape character",
      "an unknown escape in a text in \" (text in ' takes \\ as it is)", false },
};

/* The byte at which the character of that number begins; NULL at the end of the text. */
static const char *find_character(const char *text, size_t n_text, size_t n)
{
    for (const char *at = text; at < text + n_text; at++)
        if (utf8_begins(*at) && n-- == 0)
            return at;
    return NULL;
}

static char *word_start(const char *c)
{
    if (c == NULL)
        return mem_strdup("the text ends where a value was expected");
    if (*c == '\t')
        return mem_strdup("a tab cannot indent (use blanks)");
    return mem_printf("a value cannot begin with '%c' (quote it)", *c);
}

static struct yaml_problem problem_of_mark(yaml_mark_t mark, char *what)
{
    return (struct yaml_problem){ (unsigned)mark.line + 1, (unsigned)mark.column + 1, what };
}

static struct yaml_problem problem_of_reader(const yaml_parser_t *yaml, const char *text, size_t n)
{
    return yaml_problem_at(text, n, yaml->problem_offset,
                           strstr(yaml->problem, "control") != NULL
                               ? "a control character cannot stand here"
                               : "this is no UTF-8 text");
}

struct yaml_problem yaml_problem_of(const yaml_parser_t *yaml, const char *text, size_t n)
{
    const char *c;

    if (yaml->error == YAML_READER_ERROR)
        return problem_of_reader(yaml, text, n);
    c = find_character(text, n, yaml->problem_mark.index);
    if (strcmp(yaml->problem, "found character that cannot start any token") == 0 ||
        strcmp(yaml->problem, "did not find expected node content") == 0)
        return problem_of_mark(yaml->problem_mark, word_start(c));
    for (size_t i = 0; i < sizeof problems / sizeof problems[0]; i++)
        if (strcmp(yaml->problem, problems[i].problem) == 0)
            return problem_of_mark(problems[i].at_beginning || c == NULL ? yaml->context_mark
                                                                         : yaml->problem_mark,
                                   mem_strdup(problems[i].words));
    return problem_of_mark(yaml->problem_mark, mem_strdup(yaml->problem));
}
