/* SPDX-License-Identifier: MIT */
/* stop_rule.c - ludwigd's stop rule as a filter of events: RULE max|min; answers go or stop */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "server/search/stop_rule.h"

/* Lines: KIND JOB CONFIG STEP VALUE, with KIND value, ended or ready; each value has its answer. */
int main(int argc, char **argv)
{
    struct stop_spec spec = { .is_max = argc == 3 && strcmp(argv[2], "max") == 0 };
    struct stop_record *record;
    struct stop_event event;
    struct stop_answer answer;
    struct err e = { 0 };
    char kind[8];

    if (argc == 3)
        spec.rule = (enum stop_rule)stop_rule_by_word(argv[1]);
    if (spec.rule == 0 || stop_spec_check(&spec, &e) < 0) {
        fprintf(stderr, "usage: stop_rule asha|median max|min\n");
        return 2;
    }
    record = stop_record_new(&spec);
    event = (struct stop_event){ 0 };
    while (scanf("%7s %" SCNd64 " %" SCNd64 " %" SCNd64 " %lf", kind, &event.job, &event.config,
                 &event.step, &event.value) == 5) {
        event.kind = strcmp(kind, "value") == 0   ? STOP_EVENT_VALUE
                     : strcmp(kind, "ended") == 0 ? STOP_EVENT_ENDED
                                                  : STOP_EVENT_READY;
        stop_record_add(record, &event, &answer);
        if (event.kind == STOP_EVENT_VALUE) {
            printf("%s\n", answer.stop ? "stop" : "go");
            fflush(stdout);
        }
    }
    stop_record_free(record);
    return 0;
}
