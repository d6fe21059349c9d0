# raw.py - a peer of ludwigd that sends whatever a test wants
#
# It has its own msgpack and frames, so that it shares no mistake with the programs and can
# send malformed messages.

import hashlib
import os
import re
import socket
import struct
import time

ALLOWED_S = 60
WORK = {"command": "true", "resources": {"cpus_milli": 1000}}


class Ended(Exception):
    """The other side ended the connection."""


# ---- msgpack: the types that the protocol uses ----

def pack(value):
    if value is None:
        return b"\xc0"
    if isinstance(value, bool):
        return b"\xc3" if value else b"\xc2"
    if isinstance(value, int):
        return struct.pack(">Bq", 0xD3, value) if value < 0 or value > 127 else bytes([value])
    if isinstance(value, float):
        return struct.pack(">Bd", 0xCB, value)
    if isinstance(value, str):
        text = value.encode()
        return struct.pack(">BI", 0xDB, len(text)) + text
    if isinstance(value, bytes):
        return struct.pack(">BI", 0xC6, len(value)) + value
    if isinstance(value, (list, tuple)):
        return struct.pack(">BI", 0xDD, len(value)) + b"".join(map(pack, value))
    if isinstance(value, dict):
        return struct.pack(">BI", 0xDF, len(value)) + b"".join(
            pack(key) + pack(item) for key, item in value.items())
    raise TypeError(type(value))


class Unpacker:
    FIXED = {0xC0: None, 0xC2: False, 0xC3: True}
    NUMBERS = {0xCA: ">f", 0xCB: ">d", 0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q",
               0xD0: ">b", 0xD1: ">h", 0xD2: ">i", 0xD3: ">q"}
    LENGTHS = {0xC4: ">B", 0xC5: ">H", 0xC6: ">I", 0xD9: ">B", 0xDA: ">H", 0xDB: ">I",
               0xDC: ">H", 0xDD: ">I", 0xDE: ">H", 0xDF: ">I"}

    def __init__(self, data):
        self.data = data
        self.at = 0

    def take(self, n):
        taken = self.data[self.at:self.at + n]
        if len(taken) < n:
            raise ValueError("msgpack ends too early")
        self.at += n
        return taken

    def number(self, form):
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def value(self):
        head = self.take(1)[0]
        if head < 0x80:
            return head
        if head >= 0xE0:
            return head - 256
        if head in self.FIXED:
            return self.FIXED[head]
        if head in self.NUMBERS:
            return self.number(self.NUMBERS[head])
        if head < 0x90:
            return self.map(head & 15)
        if head < 0xA0:
            return self.list(head & 15)
        if head < 0xC0:
            return self.take(head & 31).decode()
        n = self.number(self.LENGTHS[head])
        if head <= 0xC6:
            return bytes(self.take(n))
        if head <= 0xDB:
            return self.take(n).decode()
        return self.list(n) if head <= 0xDD else self.map(n)

    def list(self, n):
        return [self.value() for _ in range(n)]

    def map(self, n):
        return {self.value(): self.value() for _ in range(n)}


def unpack(data):
    return Unpacker(data).value()


def framed(data):
    return struct.pack(">I", len(data)) + data


def frame(value):
    return framed(pack(value))


def frames(stream):
    """The contents of each whole frame that can be read from the stream."""
    while len(head := stream.read(4)) == 4:
        n = struct.unpack(">I", head)[0]
        if len(data := stream.read(n)) == n:
            yield data


def relay(source, sink, change):
    """Sends change(content) of each frame from source to sink (`bytes` changes nothing), until one
    side ends the connection or `change` raises OSError; then ends both."""
    try:
        for data in frames(source.makefile("rb")):
            sink.sendall(framed(change(data)))
    except OSError:
        pass
    for each in source, sink:
        try:
            each.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


# ---- a connection ----

class Peer:
    def __init__(self, path):
        self.sock = socket.socket(socket.AF_UNIX)
        # No timeout yet: connect() waits while the server's backlog is full.
        self.sock.connect(path)
        self.sock.settimeout(ALLOWED_S)
        self.seq = 0

    def send_bytes(self, data):
        try:
            self.sock.sendall(data)
        except (BrokenPipeError, ConnectionResetError) as why:
            raise Ended from why

    def send(self, kind, body=None, request_id=None, **envelope):
        self.seq += 1
        message = {"type": kind, "seq": self.seq, **envelope}
        if request_id is not None:
            message["id"] = request_id
        message["body"] = {} if body is None else body
        self.send_bytes(frame(message))
        return self.seq

    def read_exactly(self, n):
        data = b""
        while len(data) < n:
            try:
                more = self.sock.recv(n - len(data))
            except ConnectionResetError as why:
                raise Ended from why
            if not more:
                raise Ended
            data += more
        return data

    def receive(self):
        return unpack(self.read_exactly(struct.unpack(">I", self.read_exactly(4))[0]))

    def receive_kind(self, kind):
        while True:
            message = self.receive()
            if message["type"] == kind:
                return message

    def ask(self, kind, body=None, request_id=None):
        """Sends a request; returns the reply's body with the reply's type as "type".  Other messages that
        come meanwhile are dropped."""
        seq = self.send(kind, body, request_id)
        while True:
            message = self.receive()
            if message.get("re") == seq:
                return {"type": message["type"], **message["body"]}

    def hello(self, program="ludwig"):
        answer = self.ask("hello", {"version": 1, "program": program, "host": "here"})
        assert answer["type"] == "welcome", answer
        return self

    def is_ended_or_refused(self):
        """Waits for the end of the connection or for an error; any other message is wrong."""
        try:
            message = self.receive()
        except Ended:
            return True
        assert message["type"] == "error", message
        return True

    def ends(self):
        """Waits for the end of the connection; errors may come before, no other message."""
        try:
            while True:
                message = self.receive()
                assert message["type"] == "error", message
        except Ended:
            return True

    def close(self):
        self.sock.close()


# ---- requests that several tests use ----

def random_id():
    return os.urandom(16)


def submit(peer, project, configs, reps=1, **begin):
    """Submits the configurations over a client's connection; returns the body of "submitted"."""
    body = {"project": project, "reps": reps,
            "work": WORK, **begin}
    opened = peer.ask("submit_begin", body, random_id())
    assert opened["type"] == "submit_open", opened
    chunk = pack(configs)
    taken = peer.ask("submit_chunk", {"sweep": opened["sweep"], "index": 0, "configs": chunk})
    assert taken["type"] == "submit_taken", taken
    chain = hashlib.sha256(bytes(32) + chunk).digest()
    answer = peer.ask("submit_end", {"sweep": opened["sweep"], "configs": len(configs),
                                     "chain": chain}, random_id())
    assert answer["type"] == "submitted", answer
    return answer


def register(peer, node, cpus=2, worker=None):
    body = {"worker": worker or random_id(), "incarnation": random_id(), "boot_id": "boot-1",
            "node": node, "kind": "node", "cpus_milli": 1000 * cpus, "gpus": 0,
            "memory_bytes": 1 << 30, "attempts": []}
    answer = peer.ask("register", body)
    assert answer["type"] == "registered", answer
    return peer


def rss_bytes(pid):
    with open(f"/proc/{pid}/status") as status:
        return int(re.search(r"VmRSS:\s*(\d+) kB", status.read())[1]) * 1024


def wait_until(condition, what, seconds=ALLOWED_S):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds} s in vain: {what}"
        time.sleep(0.02)
