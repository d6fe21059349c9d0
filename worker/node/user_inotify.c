/* SPDX-License-Identifier: MIT */
/* user_inotify.c - opens an inotify descriptor that the kernel counts to a user */

#include "worker/node/user_inotify.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef SYS_setresuid32 /* uids of SYS_setresuid have 16 bits on such a machine */
#define SET_UIDS SYS_setresuid32
#else
#define SET_UIDS SYS_setresuid
#endif

/* Changes the effective uid of this thread only: the C library's seteuid changes all threads.  Real
 * and saved uid stay root's, so that the user can neither trace the thread nor signal it. */
static int become(uid_t effective)
{
    return (int)syscall(SET_UIDS, (uid_t)-1, effective, (uid_t)-1);
}

int user_inotify_open(uid_t uid)
{
    uid_t own = geteuid();
    int fd, number;

    if (uid != own && become(uid) < 0)
        return -1;
    fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    number = errno;
    if (uid != own && become(own) < 0)
        abort(); /* else this thread would go on with the wrong rights */
    errno = number;
    return fd;
}
