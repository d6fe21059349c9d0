#!/usr/bin/env python3
# file_requests.py - clients that reach ludwigd through files alone: honest ones and attackers
"""usage: file_requests.py SHARE SCENARIO [ARGUMENT]...

Runs as the user whose inbox it uses, or as an attacker.
"""

import hashlib
import json
import os
import sys
import time

import raw
from raw import WORK, Ended, frame, pack, random_id, unpack

SHARE = sys.argv[1] if len(sys.argv) > 1 else ""
BASE = SHARE + "/.ludwig"
OUTBOX = BASE + "/outbox"
ALLOWED_S = 60


class GivenUp(Ended):
    """ludwigd has ended this connection, with a reason."""


def inbox(uid=None):
    return f"{BASE}/inbox/{os.getuid() if uid is None else uid}"


def server_id():
    with open(BASE + "/id") as file:
        return json.load(file)


def write(path, data, mode=0o600):
    """Writes a file as a client should: under another name first."""
    temporary = os.path.dirname(path) + "/." + os.path.basename(path)
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    os.write(fd, data)
    os.fchmod(fd, mode)
    os.close(fd)
    os.rename(temporary, path)


class FilePeer(raw.Peer):
    """A connection made of request and reply files, with the methods of raw.Peer."""

    def __init__(self, uid=None, conn=None):
        self.seq = 0
        self.id = server_id()
        self.conn = conn or os.urandom(16)
        self.uid = os.getuid() if uid is None else uid
        self.put_n = self.got_n = 0
        self.input = b""
        self.is_over = False

    def in_path(self, no):
        return f"{inbox(self.uid)}/{self.conn.hex()}.{no}"

    def out_path(self, no):
        return f"{OUTBOX}/{self.uid}.{self.conn.hex()}.{no}"

    def request(self, data=b"", **other):
        return pack({"v": 2, "server": self.id["server"],
                     "incarnation": bytes.fromhex(self.id["incarnation"]), "conn": self.conn,
                     "no": self.put_n, "data": data, **other})

    def send_bytes(self, data, **other):
        """Sends data in as many requests as needed; at most two of them are without a reply at a time."""
        while True:
            while self.put_n - self.got_n >= 2:
                self.take_reply()
            write(self.in_path(self.put_n), self.request(data[:1000000], **other))
            self.put_n += 1
            data = data[1000000:]
            if not data:
                return

    def get(self):
        """Waits for the next reply."""
        deadline = time.monotonic() + ALLOWED_S
        while time.monotonic() < deadline:
            try:
                with open(self.out_path(self.got_n), "rb") as file:
                    reply = unpack(file.read())
            except FileNotFoundError:
                time.sleep(0.002)
                continue
            if reply.get("why") is not None:
                raise GivenUp(reply["why"])
            self.got_n += 1
            return reply
        raise TimeoutError("no answer")

    def take_reply(self):
        reply = self.get()
        self.input += reply.get("data", b"")
        self.is_over = bool(reply.get("is_end"))

    def read_exactly(self, n):
        while len(self.input) < n:
            if self.is_over:
                raise Ended
            if self.put_n == self.got_n:
                self.send_bytes(b"")
            self.take_reply()
        data, self.input = self.input[:n], self.input[n:]
        return data

    def is_answered(self):
        return os.path.exists(self.out_path(self.got_n))

    def close(self):
        self.send_bytes(b"", is_end=True)
        while not self.is_over:
            if self.put_n == self.got_n:
                self.send_bytes(b"", is_end=True)
            self.take_reply()
        for no in range(self.put_n):
            os.unlink(self.in_path(no))


def hello_bytes():
    return frame({"type": "hello", "seq": 1, "body": {"version": 1, "program": "ludwig", "host": "here"}})


def client():
    return FilePeer().hello()


def sweeps(peer):
    return peer.ask("get_sweeps", {"limit": 500})["sweeps"]


# ---- honest ones ----

def who():
    answer = FilePeer().ask("hello", {"version": 1, "program": "ludwig", "host": "here"})
    print(answer["user"], answer["uid"])


def count():
    print(len(sweeps(client())))


def large():
    """Sends a message of 3.5 MB, and two requests in the wrong order."""
    peer = client()
    configs = [{"text": "x" * 3500, "n": n} for n in range(1000)]
    body = {"project": "large", "reps": 1, "no_nodes": True, "work": WORK}
    opened = peer.ask("submit_begin", body, random_id())
    chunk = pack(configs)
    peer.seq += 1
    data = frame({"type": "submit_chunk", "seq": peer.seq,
                  "body": {"sweep": opened["sweep"], "index": 0, "configs": chunk}})
    while peer.put_n > peer.got_n:
        peer.take_reply()
    first, second = data[:1000000], data[1000000:2000000]
    peer.put_n += 1
    write(peer.in_path(peer.put_n), peer.request(second))
    peer.put_n -= 1
    write(peer.in_path(peer.put_n), peer.request(first))
    peer.put_n += 2
    peer.send_bytes(data[2000000:])
    answer = peer.receive()
    assert answer["type"] == "submit_taken" and answer["re"] == peer.seq, answer
    end = {"sweep": opened["sweep"], "configs": len(configs),
           "chain": hashlib.sha256(bytes(32) + chunk).digest()}
    done = peer.ask("submit_end", end, random_id())
    assert done["type"] == "submitted" and done["jobs"] == len(configs), done
    peer.close()


# ---- executed once ----

def submit_step(peer, project, ids):
    """Submits, with the given request ids."""
    body = {"project": project, "reps": 1, "no_nodes": True, "work": WORK}
    opened = peer.ask("submit_begin", body, ids[0])
    assert opened["type"] == "submit_open", opened
    chunk = pack([{"a": 1}, {"a": 2}])
    peer.ask("submit_chunk", {"sweep": opened["sweep"], "index": 0, "configs": chunk})
    return peer.ask("submit_end", {"sweep": opened["sweep"], "configs": 2,
                                   "chain": hashlib.sha256(bytes(32) + chunk).digest()}, ids[1])


def persistent(seed):
    """Submits, again with the same request ids whenever ludwigd does not answer."""
    ids = [hashlib.sha256(f"{seed}{n}".encode()).digest()[:16] for n in range(2)]
    deadline = time.monotonic() + 180
    while True:
        try:
            answer = submit_step(FilePeer().hello(), "once" + seed, ids)
            if answer["type"] == "submitted":
                print(answer["sweep"])
                return
        except (Ended, TimeoutError, AssertionError, KeyError, TypeError, ValueError) as why:
            print(type(why).__name__, why, file=sys.stderr)
        assert time.monotonic() < deadline
        time.sleep(0.02)


def leave_request(state):
    """Puts the end of a submit into the inbox, and does not wait for the reply."""
    ids = [random_id(), random_id()]
    peer = client()
    body = {"project": "left", "reps": 1, "no_nodes": True, "work": WORK}
    opened = peer.ask("submit_begin", body, ids[0])
    chunk = pack([{"a": 1}])
    peer.ask("submit_chunk", {"sweep": opened["sweep"], "index": 0, "configs": chunk})
    body = {"sweep": opened["sweep"], "configs": 1, "chain": hashlib.sha256(bytes(32) + chunk).digest()}
    peer.send("submit_end", body, ids[1])
    with open(state, "w") as file:
        json.dump({"ids": [i.hex() for i in ids], "sweep": opened["sweep"],
                   "chain": body["chain"].hex(), "conn": peer.conn.hex(), "put": peer.put_n,
                   "got": peer.got_n, "id": peer.id}, file)


def left(state):
    with open(state) as file:
        return json.load(file)


def answered(state):
    """The reply to what leave_request sent has come."""
    was = left(state)
    peer = FilePeer(conn=bytes.fromhex(was["conn"]))
    peer.got_n, peer.put_n = was["got"], was["put"]
    assert peer.receive_kind("submitted")["body"]["sweep"] == was["sweep"]


def is_ignored(state):
    """ludwigd does not know the connection of leave_request any more, and ignores further requests on it."""
    was = left(state)
    peer = FilePeer(conn=bytes.fromhex(was["conn"]))
    peer.got_n = peer.put_n = was["put"]
    peer.id = was["id"]
    peer.send_bytes(b"more")
    who()
    assert not peer.is_answered()


def ask_again(state):
    was = left(state)
    answer = client().ask("submit_end", {"sweep": was["sweep"], "configs": 1,
                                         "chain": bytes.fromhex(was["chain"])},
                          bytes.fromhex(was["ids"][1]))
    assert answer["type"] == "submitted" and answer["sweep"] == was["sweep"], answer


# ---- attackers ----

def must_fail(what, *arguments):
    try:
        what(*arguments)
    except OSError:
        return
    raise AssertionError(f"{what.__name__} {arguments} worked")


def spare(path):
    """lab1: writes a request of its own to a place that others can reach."""
    peer = FilePeer()
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    os.write(fd, peer.request(hello_bytes()))
    os.fchmod(fd, 0o666)
    os.close(fd)
    print(peer.conn.hex())


def take_it(how, path, conn):
    """lab2: puts lab1's request into its own inbox."""
    peer = FilePeer(conn=bytes.fromhex(conn))
    target = peer.in_path(0)
    if how == "link":
        try:
            os.link(path, target)
        except PermissionError:
            print("the kernel forbids it")
            return
    elif how == "rename":
        os.rename(path, target)
    elif how == "symlink":
        os.symlink(path, target)
    who() # who came later was served
    assert not peer.is_answered()
    os.unlink(target)


def into_anothers(victim, conn):
    """lab2: cannot reach lab1's inbox, requests and replies."""
    peer = FilePeer(uid=int(victim), conn=bytes.fromhex(conn))
    must_fail(os.listdir, inbox(victim))
    must_fail(peer.send_bytes, hello_bytes())
    must_fail(os.listdir, OUTBOX)
    must_fail(open, peer.in_path(0))
    # Who knows the name of a reply can see that it is there, and not read it.
    os.stat(peer.out_path(0))
    must_fail(open, peer.out_path(0))
    must_fail(os.unlink, peer.out_path(0))
    for path in (f"{OUTBOX}/x", f"{BASE}/x", f"{BASE}/inbox/x", f"{BASE}/inbox/9999", f"{BASE}/id"):
        must_fail(lambda: os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)))
    must_fail(os.rename, inbox(), f"{BASE}/inbox/{int(victim) + 100000}")
    must_fail(os.rename, inbox(victim), f"{BASE}/inbox/x")
    must_fail(os.chmod, inbox(victim), 0o777)
    must_fail(os.symlink, "2002", f"{BASE}/inbox/@root")


def hold(state):
    """lab1: opens a connection and writes its name to a file; ends it when the file is removed."""
    peer = client()
    with open(state + ".new", "w") as file:
        file.write(f"{peer.conn.hex()} {peer.put_n}\n")
    os.chmod(state + ".new", 0o644)
    os.rename(state + ".new", state)
    while os.path.exists(state):
        time.sleep(0.02)
    assert sweeps(peer) is not None


def guess(state):
    """lab2: sends the next requests of lab1's connection, and all its requests from the first on."""
    conn, put_n = open(state).read().split()
    for first in (int(put_n), 0):
        peer = FilePeer(conn=bytes.fromhex(conn))
        peer.put_n = peer.got_n = first
        peer.send_bytes(b"garbage that would end it")
    who()


def strange():
    """Puts files that are no requests into the inbox."""
    box = inbox()

    def name():
        return f"{box}/{os.urandom(16).hex()}.0"

    os.mkfifo(name())
    os.mkdir(name())
    os.symlink("/dev/zero", name())
    os.symlink(name(), name())
    fd = os.open(name(), os.O_WRONLY | os.O_CREAT, 0o600)
    os.ftruncate(fd, 1 << 40)
    os.close(fd)
    for data in (b"", b"\xff" * 1000, pack({}), pack({"v": 1}), b"\xdf\xff\xff\xff\xff", os.urandom(200000)):
        write(name(), data)
    # ludwigd looks at files that are there already only after a change in the inbox, which this one makes.
    write(name(), b"x", 0o666)
    sweeps(client())


def fill(n):
    """lab2: writes very many files, each of which could begin a connection."""
    box = inbox()
    for i in range(int(n)):
        path = f"{box}/{os.urandom(16).hex()}.{i % 2}"
        if i % 3 == 0:
            os.mkfifo(path)
        else:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))


def stir(gate):
    """lab2: changes its inbox as often as it can, until the gate is open."""
    box = inbox()
    names = [f"{box}/{os.urandom(16).hex()}.0" for _ in range(2)]
    os.close(os.open(names[0], os.O_WRONLY | os.O_CREAT, 0o600))
    print("stirs", flush=True)
    while not os.path.exists(gate):
        for _ in range(100):
            os.rename(names[0], names[1])
            os.rename(names[1], names[0])
    os.unlink(names[0])


def asks(n):
    """Waits for the answers to n requests, one after the other."""
    peer = client()
    for _ in range(int(n)):
        sweeps(peer)


def old_request(state):
    """Repeats a request that was meant for an earlier ludwigd."""
    was = left(state)
    peer = FilePeer()
    peer.id = was["id"]
    body = {"project": "replayed", "reps": 1, "no_nodes": True, "work": WORK}
    peer.send_bytes(hello_bytes() + frame({"type": "submit_begin", "seq": 2, "id": random_id(), "body": body}))
    try:
        while True:
            assert peer.get()["data"] == b"", "it was taken"
    except GivenUp as why:
        assert "earlier ludwigd" in str(why)


if __name__ == "__main__":
    globals()[sys.argv[2]](*sys.argv[3:])
