/* SPDX-License-Identifier: MIT */
/* temp_file.c - a temporary file without a name, which goes with whoever has it open */
#include "client/util/temp_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/path.h"

/* What may become large does better on a disk, and /tmp is memory on many machines. */
const char *temp_file_folder(void)
{
    const char *set = getenv("TMPDIR");

    if (set != NULL && set[0] == '/')
        return set;
    return access("/var/tmp", W_OK | X_OK) == 0 ? "/var/tmp" : "/tmp";
}

int temp_file_open(struct err *e)
{
    const char *folder = temp_file_folder();
    char *path = path_join(folder, "ludwig-XXXXXX");
    int fd = mkostemp(path, O_CLOEXEC);

    if (fd < 0) {
        err_sys(e, "make a temporary file in %s ($TMPDIR says where)", folder);
    } else if (unlink(path) < 0) {
        err_sys(e, "remove %s", path);
        close(fd);
        fd = -1;
    }
    free(path);
    return fd;
}
