/* SPDX-License-Identifier: MIT */
/*
 * yaml_problem.h - what libyaml could not read, in words for people
 */
#ifndef LUDWIG_COMMON_DATA_YAML_PROBLEM_H
#define LUDWIG_COMMON_DATA_YAML_PROBLEM_H

#include <stddef.h>

#include <yaml.h>

struct yaml_problem {
    unsigned line, column; /* from 1 */
    char *what;            /* the caller frees it */
};

/* Of a parser that has failed, and not for want of memory, while it read the n bytes of text. */
struct yaml_problem yaml_problem_of(const yaml_parser_t *yaml, const char *text, size_t n);
/* The place of the byte at offset, and a copy of what. */
struct yaml_problem yaml_problem_at(const char *text, size_t n, size_t offset, const char *what);

#endif
