/* SPDX-License-Identifier: MIT */
/*
 * crash_point.h - every point between a job's exit and the removal of its scratch where a
 * process may be killed, and what the next start does then
 *
 * CRASH_POINT(job_exited) is nothing in normal builds.  With LUDWIG_TEST_HOOKS it
 * kills the process when $LUDWIG_CRASH_AT is the point's name and the file
 * $LUDWIG_CRASH_ONCE does not exist yet; the file is created first, so that each
 * test kills once.  docs/internals/publishing.md walks the same rows; a test compares them.
 */
#ifndef LUDWIG_COMMON_BASE_CRASH_POINT_H
#define LUDWIG_COMMON_BASE_CRASH_POINT_H

/* name, the process that is killed, what the next start does */
#define CRASH_POINT_POINTS(X)                                                                     \
    X(job_exited, runner, "run/ has no outcome: reported lost, runs again")                       \
    X(outcome_begun, runner, "run/ has no outcome: reported lost, runs again")                    \
    X(outcome_written, runner, "the agent moves the folder to ended/ and has it published")       \
    X(ended_moved, runner, "the agent finds it in ended/ and has it published")                   \
    X(publish_begun, publisher, "published from the beginning")                                   \
    X(save_aside, publisher, "what the job put in the place of save/ gets a folder around it")    \
    X(save_replaced, publisher, "the same: save/ is there, but empty")                            \
    X(saved_scanned, publisher, "published from the beginning; names made portable stay so")      \
    X(copy_begun, publisher, "the half-made copy is removed and made again")                      \
    X(saved_moved, publisher, "goes on with the temporary folder on the share")                   \
    X(series_added, publisher, "goes on with the temporary folder, the series is written anew")   \
    X(job_json_written, publisher, "goes on with the temporary folder, job.json is written anew") \
    X(log_shipped, publisher, "as before; the log is complete already")                           \
    X(reported_kept, publisher, "as before; what was reported is complete already")               \
    X(checkpoint_begun, publisher, "the half-made copy of the checkpoint is made again")          \
    X(checkpoint_copied, publisher, "the copy of the checkpoint is made again")                   \
    X(group_synced, publisher, "as before; syncs again")                                          \
    X(checkpoint_renamed, publisher, "finds the same checkpoint on the share: nothing to copy")   \
    X(result_opened, publisher, "goes on with the temporary folder, which is closed again")       \
    X(result_renamed, publisher, "finds its own token under the final name: that is the verdict") \
    X(loser_removed, publisher, "finds the winner's token under the final name")                  \
    X(parents_synced, publisher, "finds its own token under the final name")                      \
    X(checkpoint_alone, publisher, "as before; what is older is removed again")                   \
    X(checkpoints_dropped, publisher, "as before; none is left on the share")                     \
    X(report_written, publisher, "the verdict is read again, the report written anew")            \
    X(published_moved, publisher, "the report in published/ is told to the agent again")          \
    X(withdraw_renamed, publisher, "the temporary folder is removed")                             \
    X(withdraw_removed, publisher, "nothing of it is on the share: the report is written anew")   \
    X(withdraw_reported, publisher, "as before; the agent is told again")                         \
    X(discard_begun, publisher, "what is left in published/ is discarded again")                  \
    X(discard_ended, publisher, "nothing is left; the agent is told again")                       \
    X(stage_begun, stager, "the tree is begun: goes on with it")                                  \
    X(stage_created, stager, "a file of the wrong size is made again, whole ones stay")           \
    X(stage_piece, stager, "a large file that is not read-only yet: pieces that are right stay")  \
    X(stage_filled, stager, "all files stay, links are made")                                     \
    X(stage_linked, stager, "all stays, the tree gets its name")                                  \
    X(stage_named, stager, "the tree has no record: every file is read, and stays if right")      \
    X(stage_recorded, stager, "the tree is there; a leftover of its beginning is ignored")

enum crash_point_point {
#define X(name, who, next) CRASH_##name,
    CRASH_POINT_POINTS(X)
#undef X
        CRASH_POINT_COUNT
};

#ifdef LUDWIG_TEST_HOOKS
void crash_point_here(enum crash_point_point point);
#define CRASH_POINT(name) crash_point_here(CRASH_##name)
#else
#define CRASH_POINT(name) ((void)CRASH_##name)
#endif

#endif
