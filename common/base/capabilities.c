/* SPDX-License-Identifier: MIT */
/* capabilities.c - what a process of root's keeps of root's rights */

#include "common/base/capabilities.h"

#ifdef __linux__
#include <errno.h>
#include <linux/capability.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WORD_BITS = 32 };

/* EPERM is fine: a process that may not change its set was given it by one that may, as systemd. */
static int shrink_bounding_set(uint64_t kept, struct err *e)
{
    for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
        if ((kept >> cap & 1) == 0 && prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0 && errno != EPERM)
            return err_sys(e, "give up capability %d", cap);
    return 0;
}

int capabilities_keep(const int *kept, size_t n, bool for_all, struct err *e)
{
    struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
    struct __user_cap_data_struct words[_LINUX_CAPABILITY_U32S_3];
    uint64_t all = 0;

    for (size_t i = 0; i < n; i++)
        all |= UINT64_C(1) << kept[i];
    (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    if (for_all && shrink_bounding_set(all, e) < 0)
        return -1;
    if (syscall(SYS_capget, &head, words) < 0)
        return err_sys(e, "read the capabilities");
    for (size_t i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
        words[i].permitted &= (uint32_t)(all >> (WORD_BITS * i));
        words[i].effective &= words[i].permitted;
        words[i].inheritable = 0;
    }
    return syscall(SYS_capset, &head, words) < 0 ? err_sys(e, "give up capabilities") : 0;
}
#else
int capabilities_keep(const int *kept, size_t n, bool for_all, struct err *e)
{
    (void)kept;
    (void)n;
    (void)for_all;
    (void)e;
    return 0;
}
#endif
