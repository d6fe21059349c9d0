/* SPDX-License-Identifier: MIT */
/* user_inotify.c - an inotify descriptor that counts as a user's */

#include "worker/node/user_inotify.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef SYS_setresuid32 /* the other one has 16 bits on such a machine */
#define SET_UIDS SYS_setresuid32
#else
#define SET_UIDS SYS_setresuid
#endif

/* Of this thread alone: the C library's seteuid changes all threads.  The real and the saved uid stay
 * root's, so that the user can neither trace the thread nor send it signals. */
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
        abort(); /* whatever it did next would be done with the wrong rights */
    errno = number;
    return fd;
}
