#!/usr/bin/env python3
# attack_tries.py - very many attacks of one user on another, tried one by one
"""usage: attack_tries.py files|processes|messages|malformed|crowds ARGUMENT...

Each try is done first with the user's own file, process or sweep, where it must work; a try that
fails there shows nothing and does not count.  Then it is done with another user's, where it must
fail because it is forbidden.
"""

import ctypes
import ctypes.util
import errno
import os
import platform
import re
import resource
import select
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile

import raw
from raw import WORK, Ended, Peer, frame, pack, random_id, submit

ME = os.getuid()
FORBIDDEN = errno.EPERM, errno.EACCES
ELSEWHERE = errno.EXDEV  # rename and link do not work between mounts

held = 0
through = []
no_use = []  # tries that failed with the user's own, too


def count(name, is_held, why=""):
    global held
    if is_held:
        held += 1
    else:
        through.append(f"{name}: {why}")


def attempt(name, do, own, theirs):
    """Calls do() with the user's own object, then with another user's."""
    try:
        do(own())
    except OSError as why:
        no_use.append(f"{name}: {why}")
        return
    try:
        do(theirs)
        count(name, False, "it worked")
    except OSError as why:
        if why.errno == ELSEWHERE:
            no_use.append(f"{name}: {why}")
        else:
            count(name, why.errno in FORBIDDEN, why)


# ---- files ----

OWN = os.environ["OWN"]  # a folder of the user's own, on the same file system as the attacked ones


def own_place(kind):
    """Makes a new file, folder or socket of the user's own; returns its path."""
    folder = tempfile.mkdtemp(dir=OWN)
    path = os.path.join(folder, "own")
    if kind == "folder":
        os.mkdir(path)
    elif kind == "socket":
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        listener.close()
    else:
        with open(path, "w") as f:
            f.write("own\n")
    return path


def beside(path):
    return path + ".other"


def open_with(flags):
    return lambda path: os.close(os.open(path, flags))


def in_own(do):
    """Returns a try that calls do(path, new name in a folder of the user's own)."""
    return lambda path: do(path, os.path.join(tempfile.mkdtemp(dir=OWN), "x"))


def replace(path):
    os.rename(own_place("file"), path)


def replace_folder(path):
    os.rename(own_place("folder"), path)


def put_away(path):
    os.rename(path, beside(path))


def write_within(path):
    with open(os.path.join(path, "planted"), "w") as f:
        f.write("planted\n")


ANY = {
    "rename": put_away,
    "rename it into one's own folder": in_own(os.rename),
    "chmod 0777": lambda path: os.chmod(path, 0o777),
    "chmod without following links": lambda path: os.chmod(path, 0o600),
    "chown": lambda path: os.chown(path, ME, os.getgid()),
    "touch": lambda path: os.utime(path, (1, 1)),
    "set an attribute": lambda path: os.setxattr(path, "user.x", b"x"),
}
READ = {
    "read": open_with(os.O_RDONLY),
    "read through a link": in_own(lambda path, own: (os.symlink(path, own), os.close(os.open(own, os.O_RDONLY)))),
    "copy": in_own(shutil.copyfile),
    "list attributes": os.listxattr,
}
CHANGE = {
    "write": open_with(os.O_WRONLY),
    "append": open_with(os.O_WRONLY | os.O_APPEND),
    "empty": open_with(os.O_WRONLY | os.O_TRUNC),
    "write and create": open_with(os.O_WRONLY | os.O_CREAT),
    "truncate": lambda path: os.truncate(path, 0),
    "write through a link": in_own(lambda path, own: (os.symlink(path, own), os.close(os.open(own, os.O_WRONLY)))),
    "link into one's own folder": in_own(os.link),
    "remove": os.unlink,
    "replace": replace,
}
LIST = {
    "list": os.listdir,
    "enter": lambda path: os.close(os.open(path, os.O_RDONLY | os.O_DIRECTORY)),
}
FILL = {
    "make a file in it": write_within,
    "make a folder in it": lambda path: os.mkdir(os.path.join(path, "planted")),
    "make a link in it": lambda path: os.symlink("/etc/passwd", os.path.join(path, "planted")),
    "make a fifo in it": lambda path: os.mkfifo(os.path.join(path, "planted")),
    "move a file into it": lambda path: os.rename(own_place("file"), os.path.join(path, "planted")),
    "move a folder into it": lambda path: os.rename(own_place("folder"), os.path.join(path, "planted")),
    "open a file without a name in it": lambda path: os.close(os.open(path, os.O_WRONLY | os.O_TMPFILE)),
    "remove": os.rmdir,
    "replace": replace_folder,
}
REMOVE = {"remove": os.unlink, "replace": replace, "link into one's own folder": in_own(os.link)}


def kind_of(path, named):
    """The kind that the caller names: the attacker may not be allowed to look at the path."""
    return {"d": "folder", "f": "file", "s": "socket"}[named.lower()]


def files(*named):
    """Attacks each f:PATH (file), d:PATH (folder) or s:PATH (socket); F: and D: may be read, not changed."""
    for each in named:
        letter, path = each.split(":", 1)
        kind = kind_of(path, letter)
        tries = dict(ANY)
        if kind == "file":
            tries.update(CHANGE)
        elif kind == "folder":
            tries.update(FILL)
        else:
            tries.update(REMOVE)
        if letter == "f":
            tries.update(READ)
        elif letter == "d":
            tries.update(LIST)
        for name, do in tries.items():
            attempt(f"{name} {path}", do, lambda: own_place(kind), path)


# ---- processes ----

libc = ctypes.CDLL(ctypes.util.find_library("c"), use_errno=True)
# System calls without a function in libc.
NUMBERS = {
    "x86_64": {"ioprio_set": 251, "migrate_pages": 256, "move_pages": 279, "get_robust_list": 274, "kcmp": 312,
               "pidfd_getfd": 438},
    "aarch64": {"ioprio_set": 30, "migrate_pages": 238, "move_pages": 239, "get_robust_list": 100, "kcmp": 272,
                "pidfd_getfd": 438},
}.get(platform.machine(), {})


def checked(rc):
    if rc < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return rc


def syscall(name, *arguments):
    return checked(libc.syscall(ctypes.c_long(NUMBERS[name]), *[ctypes.c_long(a) for a in arguments]))


def ptrace(request, pid):
    checked(libc.ptrace(ctypes.c_long(request), ctypes.c_long(pid), None, None))


def seize(pid):
    ptrace(0x4206, pid)
    os.kill(pid, signal.SIGKILL)  # ends the process, and with it the tracing


def attach(pid):
    ptrace(16, pid)
    os.waitpid(pid, 0)
    ptrace(17, pid)


class Iovec(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("n", ctypes.c_size_t)]


def first_address(pid):
    try:
        with open(f"/proc/{pid}/maps") as maps:
            return int(maps.read().split("-", 1)[0], 16)
    except OSError:
        return 0x400000


def read_memory(pid):
    data = ctypes.create_string_buffer(16)
    local = Iovec(ctypes.cast(data, ctypes.c_void_p), 16)
    remote = Iovec(first_address(pid), 16)
    checked(libc.process_vm_readv(pid, ctypes.byref(local), 1, ctypes.byref(remote), 1, 0))


def with_pidfd(do):
    def through(pid):
        fd = os.pidfd_open(pid)
        try:
            do(fd)
        finally:
            os.close(fd)
    return through


def take_descriptor(fd):
    os.close(syscall("pidfd_getfd", fd, 0, 0))


def reads(name):
    def read(pid):
        with open(f"/proc/{pid}/{name}", "rb") as f:
            f.read(1)
    return read


def writes(name, text):
    def write(pid):
        with open(f"/proc/{pid}/{name}", "w") as f:
            f.write(text)
    return write


def enter(name):
    def at(pid):
        os.close(os.open(f"/proc/{pid}/{name}", os.O_RDONLY))
    return at


PROCESS = {
    **{f"send signal {n}": (lambda n: lambda pid: os.kill(pid, n))(n)
       for n in (0, signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGSTOP, signal.SIGCONT, signal.SIGUSR1,
                 signal.SIGKILL)},
    "signal through a descriptor": with_pidfd(lambda fd: signal.pidfd_send_signal(fd, signal.SIGKILL)),
    "attach": attach,
    "seize": seize,
    "read its memory": read_memory,
    "take a descriptor": with_pidfd(take_descriptor),
    **{f"read {name}": reads(name)
       for name in ("environ", "maps", "smaps", "auxv", "io", "mem", "pagemap", "syscall", "personality", "numa_maps",
                    "fdinfo/0", "timers")},
    "list descriptors": lambda pid: os.listdir(f"/proc/{pid}/fd"),
    "list mapped files": lambda pid: os.listdir(f"/proc/{pid}/map_files"),
    **{f"go to its {name}": enter(name) for name in ("cwd", "root", "exe", "fd/0", "ns/mnt", "ns/pid")},
    "write memory": lambda pid: os.close(os.open(f"/proc/{pid}/mem", os.O_WRONLY)),
    "raise oom_score_adj": writes("oom_score_adj", "1000"),
    "change coredump_filter": writes("coredump_filter", "0"),
    "clear references": writes("clear_refs", "1"),
    "renice": lambda pid: os.setpriority(os.PRIO_PROCESS, pid, 19),
    "bind to a processor": lambda pid: os.sched_setaffinity(pid, {min(os.sched_getaffinity(0))}),
    "schedule as idle": lambda pid: os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0)),
    "limit its files": lambda pid: resource.prlimit(pid, resource.RLIMIT_NOFILE, (0, 0)),
    "limit its size": lambda pid: resource.prlimit(pid, resource.RLIMIT_AS, (1, 1)),
    "read its limits by prlimit": lambda pid: resource.prlimit(pid, resource.RLIMIT_AS),
    "starve its disk": lambda pid: syscall("ioprio_set", 1, pid, 3 << 13),
    "compare its files": lambda pid: syscall("kcmp", os.getpid(), pid, 1, 0, 0),
    "list its locks": lambda pid: syscall("get_robust_list", pid, ctypes.addressof(ctypes.c_long()),
                                          ctypes.addressof(ctypes.c_long())),
    "move its pages": lambda pid: syscall("move_pages", pid, 0, 0, 0, 0, 0),
}


def processes(*pids):
    started = []

    def own():
        one = subprocess.Popen(["sleep", "1000"])
        started.append(one)
        return one.pid

    for pid in pids:
        with open(f"/proc/{pid}/comm") as f:
            name = f"{pid} ({f.read().strip()})"
        for what, do in PROCESS.items():
            attempt(f"{what} of {name}", do, own, int(pid))
        assert os.path.exists(f"/proc/{pid}"), name
    for one in started:
        one.kill()
        one.wait()


# ---- messages about another user's sweeps and attempts ----

def kind_of_answer(answer):
    return answer["kind"] if answer["type"] == "error" else answer["type"]


def asked(name, path, kind, own, theirs, changes=True):
    """Sends a message about the user's own sweep, which must be allowed, and about another user's."""
    peer = Peer(path).hello()
    allowed = peer.ask(kind, own, random_id() if changes else None)
    if kind_of_answer(allowed) == "denied":
        no_use.append(f"{name}: {allowed}")
        return
    answer = peer.ask(kind, theirs, random_id() if changes else None)
    count(name, kind_of_answer(answer) == "denied", answer)
    peer.close()


def about_sweeps(path, own, sweeps):
    """Tries every message that changes a sweep, its jobs or its label."""
    for sweep in sweeps:
        for part in ({}, {"first": 1, "last": 1}):
            targets = [{"sweep": own, **part}], [{"sweep": sweep, **part}]
            for kind, more in (("cancel", {}), ("cancel", {"drain": True}), ("pause", {}), ("resume", {}),
                               ("retry", {}), ("retry", {"states": ["failed"]}), ("retry", {"states": ["cancelled"]}),
                               ("remove", {"step": "look"}), ("remove", {"step": "begin"}),
                               ("remove", {"step": "end"})):
                asked(f"{kind} {more} {targets[1]}", path, kind, {"targets": targets[0], **more},
                      {"targets": targets[1], **more})
        # The other user's sweep beside one of the user's own.
        both = [{"sweep": own}, {"sweep": sweep}]
        for kind in "cancel", "pause", "resume", "retry":
            asked(f"{kind} {both}", path, kind, {"targets": both[:1]}, {"targets": both})
        for label in ({"name": "mine"}, {"note": "x"}, {"tags": ["x"]}, {"untags": ["x"]}, {}):
            asked(f"label {label} of {sweep}", path, "label", {"sweep": own, **label}, {"sweep": sweep, **label})


def not_told(path, sweeps, word):
    """No reply about private sweeps contains the word."""
    for sweep in sweeps:
        for kind, body in (("get_jobs", {"sweep": sweep, "limit": 500}), ("get_jobs", {"sweep": sweep, "after": 0}),
                           ("get_jobs", {"sweep": sweep, "states": ["running"]}),
                           ("get_results", {"sweep": sweep, "limit": 500}), ("ask_why", {"sweep": sweep, "job": 1}),
                           ("subscribe", {"sweep": sweep, "jobs": True}),
                           ("subscribe", {"sweep": sweep, "job": 1, "jobs": True, "log": True}),
                           ("subscribe", {"sweep": sweep, "job": 1, "jobs": True, "cursor": 0})):
            answer = Peer(path).hello().ask(kind, body)
            count(f"{kind} {body}", word.encode() not in pack(answer), answer)
    for kind, body in (("get_data", {"project": "private"}), ("get_data", {}), ("get_nodes", {"limit": 500}),
                       ("get_usage", {"limit": 500}), ("get_sweeps", {"limit": 500}),
                       ("preview", {"project": "private", "reps": 1, "work": bytes(32), "configs": pack([{"p": word}])}),
                       ("pack_share", {"project": "private", "path": "private/sweeps"}),
                       ("pack_share", {"project": "evil", "path": "private/sweeps"}),
                       ("pack_share", {"project": "evil", "path": "../../etc"}),
                       ("pack_share", {"project": "evil", "path": ".ludwig"})):
        peer = Peer(path).hello()
        answer = peer.ask(kind, body)
        said = pack(answer).replace(pack(pack([{"p": word}])), b"")
        count(f"{kind} {body}", word.encode() not in said, answer)
        peer.close()


def is_refused(name, path, kind, body, changes=True, program="ludwig"):
    """The request is answered with an error, or the connection ends."""
    peer = Peer(path).hello(program)
    try:
        answer = peer.ask(kind, body, random_id() if changes else None)
        count(name, answer["type"] == "error", answer)
    except Ended:
        count(name, True)
    peer.close()


def begin(path, name, **more):
    is_refused(name, path, "submit_begin", {"project": "evil", "reps": 1, "work": WORK, **more})


def about_projects(path):
    for project in ("private", "shown", "../evil", "..", ".", "/tmp/evil", "a/../../evil", ".ludwig", ".ludwig/inbox",
                    "a/b", "", "evil\n", "evil/", "x" * 300, "nul\0l", "private/", "./private", "private/../private",
                    "-rf", "--reference=private", "con", "evil ", " evil", "evil.", "a:b", "a\\b", "evil\x1b[2J"):
        begin(path, f"submit to {project!r}", project=project)
    # "private" alone would become a project of the attacker's own, private.lab2.
    for project in "private.lab1", "evil.lab1", "../evil", ".ludwig", "/etc", "":
        is_refused(f"open {project!r}", path, "open_project", {"project": project}, changes=False)
    for name in ("LUDWIG_ATTEMPT", "LUDWIG_TOKEN", "LUDWIG_", "A=B", "", "A\0B", "a b"):
        begin(path, f"set {name!r}", work={**WORK, "env": [{"name": name, "value": "x"}]})
    for data in ("../../x", "/etc/x", "", "a\nb", ".."):
        entry = {"name": data, "set": {"tree": random_id() * 2, "id": random_id() * 2, "files": 1, "bytes": 1}}
        begin(path, f"data {data!r}", work={**WORK, "data": [entry]})
        begin(path, f"data as {data!r}x", work={**WORK, "data": [{**entry, "name": "x", "link": f"{data}/../../x"}]})
    for pool in ({"partition": "-x"}, {"partition": "a\nb"}, {"partition": "p", "extra": ["x"]},
                 {"partition": "p", "account": "--uid=0"}, {"partition": "p", "qos": "-q"},
                 {"partition": "p", "extra": ["--x\ny"]}, {"partition": "p", "constraint": "-C"}):
        begin(path, f"pool {pool}", pools=[pool])
    for nodes in (["@nobody"], ["-x"], ["a b"], [""], [".."], ["node1\n"]):
        begin(path, f"nodes {nodes}", nodes=nodes)


def administers(path):
    for kind, body in (("drain", {"nodes": ["node1"]}), ("drain", {"nodes": ["node1"], "undo": True}),
                       ("drain", {"nodes": ["node1", "node1"]}), ("shutdown", {}), ("shutdown", {"workers": True})):
        is_refused(f"{kind} {body}", path, kind, body)


STATES = "assigned", "staging", "running", "publishing", "done", "failed", "cancelled", "lost", "recalled"
EVENTS = "stage", "run", "end", "done", "fail", "cancel", "supersede", "lose", "recall", "return", "withdraw"


def registering(peer, attempts=(), **more):
    return peer.ask("register", {"worker": random_id(), "incarnation": random_id(), "boot_id": "boot-1",
                                 "node": "node1", "kind": "node", "cpus_milli": 1000, "gpus": 0,
                                 "memory_bytes": 1 << 30, "attempts": list(attempts), **more})


def works(path, token, worker):
    """Sends messages of a worker of the user's own that knows the token of another user's attempt."""
    for event in EVENTS:
        for more in ({}, {"winner": random_id()}, {"run_path": "evil/runs/param_001/x"}):
            peer = Peer(path).hello("ludwig-worker")
            registering(peer)
            try:
                answer = peer.ask("report", {"reports": [{"token": token, "seq": 1 << 40, "event": event,
                                                          "exit_code": 0, **more}]})
                said = answer["verdicts"][0]["verdict"] if answer["type"] == "verdicts" else answer["kind"]
                count(f"report {event} {list(more)}", said in ("superseded", "usage", "protocol", "not-found"), answer)
            except Ended:
                count(f"report {event} {list(more)}", True)
            peer.close()
    for state in STATES:
        peer = Peer(path).hello("ludwig-worker")
        answer = registering(peer, [{"token": token, "state": state, "started_at": 1}])
        is_stopped = len(answer.get("stop", [])) == (state in ("assigned", "staging", "running"))
        count(f"claim to hold it as {state}", answer["type"] == "error" or is_stopped, answer)
        peer.close()
    for more in ({"worker": worker}, {"worker": worker, "own_jobs_only": True}, {"worker": worker, "kind": "slurm"},
                 {"worker": worker, "node": "elsewhere"}, {"worker": worker, "kind": "local"}):
        peer = Peer(path).hello("ludwig-worker")
        answer = registering(peer, **more)
        count(f"register as {sorted(more)}", kind_of_answer(answer) == "denied", answer)
        peer.close()
    # ludwigd must ignore these messages; the test that calls this checks so afterwards.
    for kind, body in (("log_grew", {"token": token, "size_bytes": 1 << 40}), ("packed", {"token": token}),
                       ("packed", {"token": random_id(), "is_over": True}), ("took", {"hand": 1}),
                       ("retiring", {"reason": "evil", "is_over": True, "gives_back": True}),
                       ("load", {"load_milli": 1 << 40}), ("holds", {"all": True, "user": "lab1"})):
        peer = Peer(path).hello("ludwig-worker")
        registering(peer)
        peer.send(kind, body)
        alive = peer.ask("alive", {"well": True})
        count(f"say {kind}", alive["type"] == "ok", alive)
        peer.close()


def greets(path):
    """Sends hellos that claim to come from another user."""
    hello = {"version": 1, "program": "ludwig", "host": "here"}
    for more in ({"program": "root"}, {"program": ""}, {"program": "ludwigd"}, {"version": 0}, {"version": 2},
                 {"user_label": "../lab1"}, {"user_label": ""}, {"user_label": "a/b"}, {"user_label": "x" * 300},
                 {"program": "ludwig-worker", "pilot": {"token": random_id(), "slurm_job": "1"}},
                 {"program": "ludwig-worker", "pilot": {"token": b"\1" * 16, "slurm_job": "1_2"}}):
        peer = Peer(path)
        try:
            answer = peer.ask("hello", {**hello, **more})
            count(f"hello {more}", answer["type"] == "error", answer)
        except Ended:
            count(f"hello {more}", True)
        peer.close()
    # A label gives no rights.
    answer = Peer(path).ask("hello", {**hello, "user_label": "lab1"})
    count("hello as lab1", answer["uid"] == ME and not answer.get("admin"), answer)


def messages(path, word, token, worker, *sweeps):
    sweeps = [int(each) for each in sweeps]
    own = submit(Peer(path).hello(), "evil", [{"a": i} for i in range(3)], no_nodes=True)["sweep"]
    about_sweeps(path, own, sweeps)
    not_told(path, sweeps, word)
    about_projects(path)
    administers(path)
    works(path, bytes.fromhex(token), bytes.fromhex(worker))
    greets(path)


# ---- malformed messages: each field of each message in docs/internals/protocol.md ----

WRONG = {
    "string": (7, ["x"], "x" * 100000, b"\xff\xfe"),
    "integer": ("7", 1 << 62, 1.5, []),
    "boolean": (7, "true"),
    "word": (7, "no-such-word", ""),
    "token": ("x" * 16, b"short", b"x" * 17),
    "digest": ("x" * 32, b"short"),
    "bytes": (7, [1]),
    "time": ("now", -(1 << 62)),
}


def fields_of_messages(page):
    """Returns {message: [(field, type, is required)]} of the messages to ludwigd."""
    messages = {}
    with open(page) as f:
        sections = re.split(r"^### ", f.read(), flags=re.M)[1:]
    for section in sections:
        name, text = section.split("\n", 1)
        if re.search(r"^From: (client|worker)", text.strip()):
            messages[name.strip()] = [(field, kind.strip(), "yes" in needed) for field, kind, needed in
                                      re.findall(r"^\| `(!?\w+)` \| ([^|]+)\|([^|]*)\|$", text, flags=re.M)]
    return messages


def some(kind):
    """Returns a valid value of this type."""
    return {"string": "x", "integer": 1, "boolean": False, "token": b"x" * 16, "digest": b"x" * 32, "bytes": b"",
            "time": 1}.get(kind, [] if kind.startswith(("list", "strings")) else {})


def malformed(path, page):
    ours = fields_of_messages(page)
    assert len(ours) > 25, sorted(ours)
    for name, fields in ours.items():
        if name == "hello":
            continue
        body = {field: some(kind) for field, kind, is_needed in fields if is_needed}
        bodies = [("without anything", {})] if body else []
        for field, kind, _ in fields:
            for wrong in WRONG.get(kind, (7, "x")):
                bodies.append((f"{field} {str(wrong)[:20]!r}", {**body, field: wrong}))
        bodies.append(("no map", [body]))
        bodies.append(("no body", None))
        for what, wrong in bodies:
            program = "ludwig-worker" if name in WORKERS else "ludwig"
            peer = Peer(path).hello(program)
            try:
                peer.send_bytes(frame({"type": name, "seq": 2, "id": random_id(), "body": wrong}))
                peer.sock.shutdown(socket.SHUT_WR)
                message = peer.receive()
                count(f"{name}: {what}", message["type"] == "error", message)
            except Ended:
                count(f"{name}: {what}", True)
            peer.close()


WORKERS = "register", "took", "report", "log_grew", "load", "holds", "packed", "retiring", "alive"


# ---- crowds of connections, beside which another user is still served ----

def crowds(path, pid):
    before = raw.rss_bytes(pid)

    def is_bounded(what):
        grown = (raw.rss_bytes(pid) - before) >> 20
        print(f"{what}: ludwigd grew by {grown} MiB")
        count(what, grown < 300, f"ludwigd grew by {grown} MiB")

    def crowd(program="ludwig"):
        peers = []
        for _ in range(240):
            try:
                peers.append(Peer(path).hello(program))
            except (Ended, AssertionError, OSError):
                break
        return peers

    def all_at_once(peers, data):
        """Sends data on all connections, as much as ludwigd reads; ends when it has read nothing for a second."""
        left = {peer.sock: memoryview(data) for peer in peers}
        for sock in left:
            sock.setblocking(False)
        while left:
            ready = select.select([], list(left), [], 1)[1]
            if not ready:
                break
            for sock in ready:
                try:
                    left[sock] = left[sock][sock.send(left[sock]):]
                except BlockingIOError:
                    continue
                except OSError:
                    left[sock] = b""
                if not left[sock]:
                    del left[sock]

    half = (4 << 20).to_bytes(4, "big") + bytes(3 << 20)
    for program in "ludwig", "ludwig-worker":
        peers = crowd(program)
        all_at_once(peers, half)
        is_bounded(f"unfinished messages of {len(peers)} connections as {program}")
        for peer in peers:
            peer.close()
    large = submit(Peer(path).hello(), "evil", [{"a": "x" * 2000, "i": i} for i in range(1000)], no_nodes=True)["sweep"]
    peers = crowd()
    all_at_once(peers, frame({"type": "get_jobs", "seq": 2, "body": {"sweep": large, "limit": 500}}) * 20)
    is_bounded(f"answers that {len(peers)} connections do not read")
    for peer in peers:
        peer.close()
    # Messages with very many values in few bytes.
    peers = crowd()
    all_at_once(peers, frame({"type": "get_nodes", "seq": 2, "body": {"later": [1] * 500000}}))
    is_bounded(f"large messages of {len(peers)} connections")
    for peer in peers:
        peer.close()
    # Submits that are begun and never ended.
    peers, opened, refused = crowd(), 0, 0
    for peer in peers:
        peer.sock.setblocking(True)
        answer = peer.ask("submit_begin", {"project": "evil", "reps": 1, "no_nodes": True, "work": WORK}, random_id())
        opened += answer["type"] == "submit_open"
        refused += answer["type"] == "error" and "open_submits" in answer["text"]
    count("open submits", opened == 64 and refused == len(peers) - 64, (opened, refused))
    for peer in peers:
        peer.close()
    is_bounded("all of that")


scenario, *given = sys.argv[1:]
globals()[scenario](*given)
print(f"held {held}")
for each in no_use:
    print(f"no use: {each}", file=sys.stderr)
for each in through:
    print(f"GOT THROUGH: {each}", file=sys.stderr)
sys.exit(1 if through else 0)
