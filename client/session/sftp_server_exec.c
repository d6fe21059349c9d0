/* SPDX-License-Identifier: MIT */
/* sftp_server_exec.c - replaces this program by OpenSSH's SFTP server */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/session/sftp_server_exec.h"
#include "common/base/mem.h"
#include "common/base/path.h"

bool sftp_server_exec_is_meant(const char *original_command)
{
    char *word;
    const char *name;
    bool is;

    if (original_command == NULL)
        return false;
    word = mem_strndup(original_command, strcspn(original_command, " \t"));
    name = path_basename(word);
    is = strcmp(name, "sftp-server") == 0 || strcmp(word, "internal-sftp") == 0;
    free(word);
    return is;
}

int sftp_server_exec_become(struct err *e)
{
    static const char *const places[] = {
        "/usr/lib/openssh/sftp-server",     /* Debian, Ubuntu, Arch */
        "/usr/libexec/openssh/sftp-server", /* Fedora, RHEL */
        "/usr/lib/ssh/sftp-server",         /* SUSE, Alpine */
        "/usr/libexec/sftp-server",         /* macOS, BSD */
    };

    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        if (access(places[i], X_OK) == 0) {
            execl(places[i], "sftp-server", (char *)NULL);
            return err_sys(e, "run %s", places[i]);
        }
    return err_set(e, ERR_FAILED, "there is no sftp-server on this machine");
}
