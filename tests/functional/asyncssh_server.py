#!/usr/bin/env python3
# asyncssh_server.py - an SFTP-only server by asyncssh, whose root may be a folder, and which may lack requests
"""usage: asyncssh_server.py PORT HOSTKEY AUTHORIZED_KEYS [--chroot FOLDER] [--without REQUEST,...] [--plain]

--without: answer these requests with "operation unsupported": setstat, fsetstat, symlink, readlink, rename.
--plain: offer and serve no extension of the standard."""
import argparse
import asyncio
import sys
import warnings

warnings.simplefilter("ignore")
import asyncssh  # noqa: E402
from asyncssh import sftp  # noqa: E402

p = argparse.ArgumentParser()
p.add_argument("port", type=int)
p.add_argument("hostkey")
p.add_argument("authorized")
p.add_argument("--chroot")
p.add_argument("--without", default="")
p.add_argument("--plain", action="store_true")
options = p.parse_args()


class Files(asyncssh.SFTPServer):
    def __init__(self, channel):
        super().__init__(channel, chroot=options.chroot)


def refused(self, *_):
    raise asyncssh.SFTPOpUnsupported("no")


for name in options.without.split(","):
    if name:
        setattr(Files, name, refused)
if options.plain:
    sftp.SFTPServerHandler._extensions = []
    # Handlers of extensions have a name (bytes) instead of a number as their key.
    for name in [n for n in sftp.SFTPServerHandler._packet_handlers if isinstance(n, bytes)]:
        del sftp.SFTPServerHandler._packet_handlers[name]


async def main():
    await asyncssh.listen("127.0.0.1", options.port, server_host_keys=[options.hostkey], reuse_address=True,
                          authorized_client_keys=options.authorized, sftp_factory=Files, allow_scp=False)
    await asyncio.Event().wait()

if sys.argv[1:]:
    asyncio.run(main())
