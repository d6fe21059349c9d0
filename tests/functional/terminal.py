#!/usr/bin/env python3
# terminal.py - runs a command on a new pseudo-terminal and prints what the command writes there
"""usage: terminal.py ROWSxCOLUMNS [--type WHEN TEXT]... COMMAND...

TEXT is typed as soon as the command has written WHEN, each pair after the one before it; \\x03 is
Ctrl-C.  The output goes to stdout unchanged and at once; the exit status is the command's."""

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time

DEADLINE_S = 600


def main():
    words = sys.argv[1:]
    rows, columns = map(int, words.pop(0).split("x"))
    typed = []
    while words[0] == "--type":
        typed.append((words[1].encode(), words[2].encode().decode("unicode_escape").encode()))
        del words[:3]
    # The size is set before the command starts.
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    pid = os.fork()
    if pid == 0:
        os.login_tty(slave) if hasattr(os, "login_tty") else login(slave, master)
        for number in (signal.SIGINT, signal.SIGQUIT):  # which a shell's background job ignores
            signal.signal(number, signal.SIG_DFL)
        os.execvp(words[0], words)
    os.close(slave)
    follow(master, typed)
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


def login(slave, master):
    os.close(master)
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    for fd in range(3):
        os.dup2(slave, fd)
    if slave > 2:
        os.close(slave)


def follow(master, typed):
    shown, seen = b"", 0
    deadline = time.monotonic() + DEADLINE_S
    while True:
        if not select.select([master], [], [], max(0, deadline - time.monotonic()))[0]:
            sys.exit("terminal.py: not at its end after %d s; shown: %r" % (DEADLINE_S, shown))
        try:
            piece = os.read(master, 65536)
        except OSError:  # EIO: nobody has the other end open any more
            piece = b""
        if not piece:
            break
        shown += piece
        sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
        while typed and (at := shown.find(typed[0][0], seen)) >= 0:
            seen = at + len(typed[0][0])
            os.write(master, typed.pop(0)[1])
    if typed:
        sys.exit("terminal.py: %r was never shown: %r" % (typed[0][0], shown))


main()
