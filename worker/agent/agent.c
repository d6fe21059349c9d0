/* SPDX-License-Identifier: MIT */
/* agent.c - the agent comes to an end */

#include "worker/agent/agent.h"

void agent_stop(struct agent *ag, enum agent_end end)
{
    if (ag->end == AGENT_GOES_ON)
        ag->end = end;
    uv_stop(&ag->loop);
}

void agent_fail(struct agent *ag, const struct err *why)
{
    if (ag->end == AGENT_GOES_ON)
        ag->why = *why;
    agent_stop(ag, AGENT_FAILS);
}
