/* SPDX-License-Identifier: MIT */
/*
 * search.h - a search by an advisor: the space of parameters, and the limits of the search
 *
 * The client makes a struct search from method:, budget: and params: in the sweep file; ludwigd
 * keeps it with the sweep.
 */
#ifndef LUDWIG_COMMON_PROTO_SEARCH_H
#define LUDWIG_COMMON_PROTO_SEARCH_H

#include "common/data/schema.h"

enum {
    SPACE_PARAMS_MAX = 1000,
    STAND_INS_MAX = 1000,                /* random points that a submit sends along */
    ADVICE_LINE_MAX_BYTES = 1536 * 1024, /* fits a state of 1 MiB in base64, and more words */
    ADVICE_DEPTH_MAX = 24,
    ADVICE_PATIENCE_MS = 60 * 1000 /* patience_ms if the sweep file does not set it */
};

/* Whether an advisor is asked for points.  The numbers are stored in databases (sweep.advised). */
enum advised {
    SWEEP_NOT_ADVISED = 0,
    SWEEP_ADVISED = 1,
    SWEEP_ADVICE_ENDED = 2,
    SWEEP_ADVICE_FAILED = 3 /* the sweep was paused; its advisor is asked again on resume */
};

/* Whether the advisor may still give points. */
static inline bool advised_goes_on(int64_t advised)
{
    return advised == SWEEP_ADVISED || advised == SWEEP_ADVICE_FAILED;
}

/* Where a point comes from: the advisor, a random point as the advisor was late, or a random point
 * after the advisor failed.  The numbers are stored in databases (point.by). */
enum point_by { POINT_BY_ADVISOR = 0, POINT_BY_LATE = 1, POINT_BY_FALLBACK = 2 };

enum space_kind { SPACE_FIXED, SPACE_CHOICE, SPACE_FLOAT, SPACE_INT, SPACE_KIND_COUNT };
extern const char *const space_kind_names[SPACE_KIND_COUNT];

struct space_param {
    const char *name;
    int kind;            /* enum space_kind */
    struct value values; /* a list: for FIXED the one value, for CHOICE all values */
    double low, high;    /* bounds of a FLOAT */
    int64_t first, last; /* bounds of an INT */
    bool log;            /* FLOAT, INT: random values are spread evenly over the logarithm */
    struct value when;   /* a map of lists: the parameter exists if each parameter named here has
                            one of the values in its list; null: always */
};

struct search {
    const char *advisor;     /* the command */
    int64_t configs;         /* most configurations that are tried; 0: no limit */
    int64_t gpu_hours_milli; /* when this was used, no more points are asked for; 0: no limit */
    int64_t patience_ms;     /* time for an answer; after it a random point is used */
    int64_t ahead;   /* points that wait beside running jobs; 0: as many as there are slots */
    bool falls_back; /* after the advisor failed, the search goes on with random points */
    int64_t seed;
    struct list space; /* struct space_param, in the order of the sweep file */
};

extern const struct schema space_param_schema, search_schema;

#endif
