/* SPDX-License-Identifier: MIT */
/*
 * pilot_time.h - which jobs can end before their pilot's time does
 */
#ifndef LUDWIG_SERVER_QUEUE_PILOT_TIME_H
#define LUDWIG_SERVER_QUEUE_PILOT_TIME_H

#include "server/conn/conn.h"

/* For what comes after a job has ended: its results, and the pilot's own end. */
enum { PILOT_MARGIN_MS = 30 * 1000 };

/* What is known of how long a job takes; 0: it is not. */
struct pilot_need {
    int64_t time_ms; /* as its sweep declares it */
    int64_t mean_ms; /* of those that have ended */
};

/* How long one may take, its results included; 0: nobody knows. */
int64_t pilot_need_ms(const struct pilot_need *need);
/* Can such a job end, and be published, before the pilot's time does? */
bool pilot_has_time(const struct conn *c, const struct pilot_need *need, int64_t now_ms);

#endif
