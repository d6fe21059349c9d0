/* SPDX-License-Identifier: MIT */
/* doctor.c - the table of what `ludwig doctor` looks at */
#include "client/doctor/doctor.h"

void doctor_run(struct doctor *d)
{
#define X(name, question) { #name, check_##name },
    static const struct {
        const char *name;
        void (*run)(struct doctor *d);
    } checks[] = { DOCTOR_CHECKS(X) };
#undef X

    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        d->check = checks[i].name;
        checks[i].run(d);
    }
}
