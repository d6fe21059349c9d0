/* SPDX-License-Identifier: MIT */
/*
 * results_measures.h - which measures of a sweep are shown, and which one ranks
 */
#ifndef LUDWIG_CLIENT_RESULTS_RESULTS_MEASURES_H
#define LUDWIG_CLIENT_RESULTS_RESULTS_MEASURES_H

#include "client/results/results_out.h"

/* What the command line says; NULL or empty: nothing. */
struct measures_said {
    const char *sort, *goal; /* --sort, --goal */
    struct list shown;       /* --metric: const char *, "accuracy,loss" */
};

/* The index of the measure that ranks, -1 when none does: what was said, by --sort or by results: of the
 * sweep, else the first that is to be shown, else a guess.  The aggregate, which has all results, learns
 * its goal. */
int measures_rank(struct aggregate *g, const struct measures_said *said,
                  const struct ranking *results, struct arena *a, int *ranked_by, struct err *e);
/* Fills v->metrics, in a, and v->in_detail: those that were said, else all, the one that ranks first. */
int measures_choose(struct results_view *v, const struct measures_said *said, struct arena *a,
                    struct err *e);
/* "--OPTION: no job reported 'NAME'", with those there are.  Always -1. */
int measures_refuse(const struct aggregate *g, enum err_kind kind, const char *option,
                    const char *name, struct err *e);

#endif
