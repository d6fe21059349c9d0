#!/usr/bin/env python3
# hostile.py - broken and hostile peers, which ludwigd must withstand
"""usage: hostile.py SOCKET PID_OF_LUDWIGD SCENARIO"""

import hashlib
import json
import os
import struct
import sys
import threading
import time

import raw
from raw import WORK, Ended, Peer, frame, pack, random_id, register, rss_bytes, submit, wait_until

SOCKET, PID = sys.argv[1], int(sys.argv[2])
MIB = 1 << 20


def client():
    return Peer(SOCKET).hello()


def worker(node, cpus=2):
    return register(Peer(SOCKET).hello("ludwig-worker"), node, cpus)


def serves_others():
    answer = client().ask("get_sweeps", {"limit": 1})
    assert answer["type"] == "sweep_page", answer


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def states(sweep):
    jobs = client().ask("get_jobs", {"sweep": sweep, "limit": 100}).get("jobs", [])
    return [job["state"] for job in jobs]


# ---- bytes that are no message ----

def garbage():
    for data in (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\xff" * 100, b"\x00\x00\x00\x05hello",
                 b"\x00\x00\x00\x00", struct.pack(">I", 3) + b"\xdf\xff\xff", os.urandom(4000),
                 b"\x00\x00\x00\x01\xc1", frame([1, 2, 3]), frame("text"), frame({})):
        peer = Peer(SOCKET)
        try:
            peer.send_bytes(data)
            peer.sock.shutdown(1)
            assert peer.ends()
        except Ended:
            pass
    # The same after a valid hello.
    for data in (b"\xff" * 100, b"\x00\x00\x00\x01\xc1", frame([1])):
        peer = client()
        peer.send_bytes(data)
        assert peer.ends()
    serves_others()


def oversized():
    for n in (16 * MIB + 1, 0x7FFFFFFF, 0xFFFFFFFF):
        peer = Peer(SOCKET)
        peer.send_bytes(struct.pack(">I", n))
        assert peer.ends(), n
    # A frame that announces many bytes takes no memory until they come.
    before = rss_bytes(PID)
    peers = [Peer(SOCKET) for _ in range(50)]
    for peer in peers:
        peer.send_bytes(struct.pack(">I", 16 * MIB) + b"\xdf")
    serves_others()
    assert rss_bytes(PID) - before < 16 * MIB, "it trusted the length"


def promises():
    # msgpack heads that announce four billion items, before a few bytes.
    for head in (b"\xdd\xff\xff\xff\xff", b"\xdf\xff\xff\xff\xff", b"\xdb\xff\xff\xff\xff",
                 b"\xc6\xff\xff\xff\xff"):
        peer = Peer(SOCKET)
        data = b"\x82\xa4type" + head + b"aaaa"
        peer.send_bytes(struct.pack(">I", len(data)) + data)
        assert peer.ends()
    assert rss_bytes(PID) < 200 * MIB
    serves_others()


def deep():
    for opening in (b"\x91", b"\x81\xa1k"):
        for depth in (100, 10000, 1000000):
            data = opening * depth + b"\xc0"
            peer = client()
            try:
                peer.send_bytes(struct.pack(">I", len(data)) + data)
                assert peer.ends()
            except Ended:
                pass
    # Deep nesting inside an otherwise valid message, and inside a chunk.
    nested = None
    for _ in range(60):
        nested = [nested]
    peer = client()
    peer.send("get_sweeps", {"limit": nested})
    assert peer.is_ended_or_refused()
    peer = client()
    opened = peer.ask("submit_begin", {"project": "deep", "reps": 1, "work": WORK}, random_id())
    peer.send("submit_chunk", {"sweep": opened["sweep"], "index": 0, "configs": pack([{"a": nested}])})
    assert peer.is_ended_or_refused()
    serves_others()


# ---- messages that are wrong ----

def wrong_types():
    bodies = {
        "get_sweeps": ({"limit": "many"}, {"limit": -1}, {"limit": 1e9}, {"limit": 2**62}, {"sweep": []}),
        "get_jobs": ({}, {"sweep": None}, {"sweep": "1"}, {"sweep": 1, "states": "done"},
                     {"sweep": 1, "states": ["flying"]}, {"sweep": 1, "states": [1]}),
        "cancel": ({}, {"targets": 1}, {"targets": [1]}, {"targets": [{}]}, {"targets": [{"sweep": -1}]}),
        "submit_begin": ({"project": "p"}, {"project": "../p", "reps": 1, "work": WORK},
                         {"project": "p", "reps": 1, "work": {**WORK, "command": "a\0b"}},
                         {"project": "p" * 1000, "reps": 1, "work": WORK},
                         {"project": "p", "reps": 1 << 40, "work": WORK},
                         {"project": "p", "reps": 1, "reuse": "maybe", "work": WORK},
                         {"project": ".ludwig", "reps": 1, "work": WORK}),
        "subscribe": ({"sweep": "x"}, {"sweep": 1, "jobs": 1}),
        "no_such_message": ({},),
        "": ({},),
    }
    for kind, each in bodies.items():
        for body in each:
            peer = client()
            peer.send(kind, body, random_id())
            assert peer.is_ended_or_refused(), (kind, body)
    for envelope in ({"type": 7, "seq": 1, "body": {}}, {"type": "get_sweeps", "body": {}},
                     {"type": "get_sweeps", "seq": "1", "body": {}}, {"type": "get_sweeps", "seq": 1},
                     {"type": "get_sweeps", "seq": 1, "body": []},
                     {"type": "cancel", "seq": 1, "id": b"short", "body": {"targets": []}},
                     {"type": "get_sweeps", "seq": 1, "body": {"!new": 1}},
                     {b"type": "get_sweeps", "seq": 1, "body": {}}):
        peer = client()
        peer.send_bytes(frame(envelope))
        assert peer.is_ended_or_refused(), envelope
    serves_others()


def skips_unknown():
    peer = client()
    assert peer.ask("get_sweeps", {"limit": 1, "colour": "red", "later": [1, {"x": 2}]})["type"] == "sweep_page"


def changing_needs_id():
    peer = client()
    peer.send("cancel", {"targets": [{"sweep": 1}]})
    assert peer.is_ended_or_refused()


def before_hello():
    for kind, body in (("get_sweeps", {}), ("cancel", {"targets": [{"sweep": 1}]}), ("shutdown", {}),
                       ("register", {"worker": random_id(), "incarnation": random_id(), "boot_id": "b",
                                     "node": "n", "kind": "node", "cpus_milli": 1000})):
        peer = Peer(SOCKET)
        peer.send(kind, body, random_id())
        assert peer.is_ended_or_refused(), kind
    peer = Peer(SOCKET)
    peer.send("hello", {"version": 999, "program": "ludwig"})
    assert peer.is_ended_or_refused()
    serves_others()


def wrong_role():
    peer = client()
    peer.send("register", {"worker": random_id(), "incarnation": random_id(), "boot_id": "b",
                           "node": "evil", "kind": "node", "cpus_milli": 1000})
    assert peer.is_ended_or_refused()
    for kind, body in (("report", {"reports": []}), ("took", {"hand": 1}), ("verdicts", {"verdicts": []}),
                       ("welcome", {"version": 1, "server_id": "x"}), ("hand", {"hand": 1, "sweeps": [], "assignments": []})):
        peer = client()
        peer.send(kind, body)
        assert peer.is_ended_or_refused(), kind
    peer = Peer(SOCKET).hello("ludwig-worker")
    peer.send("cancel", {"targets": [{"sweep": 1}]}, random_id())
    assert peer.is_ended_or_refused()
    # A worker that has not registered.
    peer = Peer(SOCKET).hello("ludwig-worker")
    peer.send("report", {"reports": [{"token": random_id(), "seq": 1, "event": "done"}]})
    assert peer.is_ended_or_refused()
    nodes = client().ask("get_nodes", {"limit": 100}).get("nodes", [])
    assert all(node["node"] != "evil" for node in nodes), nodes


# ---- too much ----

def never_reads():
    submit(client(), "many", [{"a": i} for i in range(1000)], no_nodes=True)
    sweep = client().ask("get_sweeps", {"limit": 1})["sweeps"][0]["sweep"]
    before = rss_bytes(PID)
    question = frame({"type": "get_jobs", "seq": 1, "body": {"sweep": sweep, "limit": 500}})
    peers = [client() for _ in range(4)]
    for peer in peers:
        peer.sock.setblocking(False)
        sent = 0
        while sent < 5000 * len(question):
            try:
                n = peer.sock.send(question * 50)
            except (BlockingIOError, BrokenPipeError, ConnectionResetError):
                break
            sent += n
    for _ in range(20):
        serves_others()
    grown = rss_bytes(PID) - before
    # ludwigd keeps up to 20 MiB of replies for each connection.
    assert grown < 110 * MIB, f"it grew by {grown >> 20} MiB"
    for peer in peers:
        peer.close()
    serves_others()


def reads_slowly():
    """A peer that sends many requests and reads late gets every reply, in order."""
    peer = client()
    n = 3000
    first = peer.seq + 1
    sender = threading.Thread(target=lambda: [peer.send("get_sweeps", {"limit": 1}) for _ in range(n)], daemon=True)
    sender.start()
    for i in range(n):
        message = peer.receive()
        assert message["re"] == first + i, (message, first + i)
    sender.join()


def many_connections():
    before = rss_bytes(PID)
    peers = []
    refused = 0
    for _ in range(400):
        try:
            peer = Peer(SOCKET)
            peer.hello()
            peers.append(peer)
        except (Ended, AssertionError, OSError):
            refused += 1
    print(f"{len(peers)} connections, {refused} refused")
    assert 100 <= len(peers) <= 250, "docs/internals/protocol.md says 250 of one user"
    assert rss_bytes(PID) - before < 64 * MIB
    # The connected ones are still served.
    assert peers[0].ask("get_sweeps", {"limit": 1})["type"] == "sweep_page"
    for peer in peers:
        peer.close()

    def lets_in():
        try:
            return Peer(SOCKET).hello() is not None
        except (Ended, AssertionError):
            return False

    wait_until(lets_in, "a connection after they left")


def says_nothing():
    """A peer without a hello in time gets an error and is disconnected; one that has sent it stays."""
    began = time.monotonic()
    silent = [Peer(SOCKET) for _ in range(50)]
    half = Peer(SOCKET)
    half.send_bytes(struct.pack(">I", 1000) + b"\x83")
    greeted = client()
    for peer in silent + [half]:
        message = peer.receive()
        assert message["type"] == "error" and "hello" in message["body"]["text"], message
        assert peer.ends()
    assert time.monotonic() - began > 5, "they had less than half a minute"
    assert greeted.ask("get_sweeps", {"limit": 1})["type"] == "sweep_page"


def own_variables():
    """A submit must not set variables that the worker sets for jobs."""
    for work in ({**WORK, "env": [{"name": "LUDWIG_ATTEMPT", "value": "x"}]},
                 {**WORK, "environment": {"variables": [{"name": "LUDWIG_ATTEMPT", "value": "x"}]}}):
        answer = client().ask("submit_begin", {"project": "env", "reps": 1, "work": work}, random_id())
        assert answer["type"] == "error" and answer["kind"] == "usage", answer
        assert "LUDWIG_" in answer["text"], answer


def become(uid):
    """Makes this process the user's, who may not be allowed to execute python3."""
    os.setgroups([])
    os.setgid(uid)
    os.setuid(uid)


def crowd(uids):
    """These users open as many connections as they may; root is still served."""
    go_on, wait = os.pipe()[::-1], []
    for uid in uids.split(","):
        told, tell = os.pipe()
        if os.fork() == 0:
            os.close(go_on[0])
            become(int(uid))
            peers = []
            for _ in range(250):
                try:
                    peers.append(client())
                except (Ended, AssertionError, OSError):
                    pass
            os.write(tell, b"%d\n" % len(peers))
            os.read(go_on[1], 1)  # waits until the parent closes the pipe
            os._exit(0)
        os.close(tell)
        wait.append(told)
    held = [int(os.read(told, 100)) for told in wait]
    print("held", held)
    assert 800 < sum(held) <= 900, held
    serves_others()
    os.close(go_on[0])
    for _ in wait:
        os.wait()


def nameless(uid):
    """A user without an account is told so."""
    uid = int(uid)
    told, tell = os.pipe()
    if os.fork() == 0:
        become(uid)
        peer = Peer(SOCKET)
        os.write(tell, repr(peer.receive()).encode())
        os._exit(0)
    os.close(tell)
    os.wait()
    said = os.read(told, 10000).decode()
    assert f"uid {uid} has no account" in said, said


def comes_and_goes():
    before = rss_bytes(PID)
    for i in range(3000):
        peer = Peer(SOCKET)
        if i % 3:
            peer.send_bytes(struct.pack(">I", 1000) + b"\x83")
        peer.close()
    serves_others()
    assert rss_bytes(PID) - before < 16 * MIB
    assert len(os.listdir(f"/proc/{PID}/fd")) < 50


def abandoned_submits():
    """A submit that was not ended shows no sweep."""
    known = client().ask("get_sweeps", {"limit": 500}).get("sweeps", [])
    for _ in range(20):
        peer = client()
        opened = peer.ask("submit_begin", {"project": "left", "reps": 1, "work": WORK}, random_id())
        peer.ask("submit_chunk", {"sweep": opened["sweep"], "index": 0, "configs": pack([{"a": 1}])})
        peer.close()
    assert client().ask("get_sweeps", {"limit": 500}).get("sweeps", []) == known


def broken_submits():
    def begin():
        peer = client()
        opened = peer.ask("submit_begin", {"project": "broken", "reps": 1, "work": WORK}, random_id())
        return peer, opened["sweep"]

    for configs in (b"", b"\xc0", pack({}), pack([1]), pack(["a"]), pack([{}]) + b"x", b"\xdd\x00\x00\x00\x02\x80",
                    pack([{"a": i} for i in range(1025)])):
        peer, sweep = begin()
        peer.send("submit_chunk", {"sweep": sweep, "index": 0, "configs": configs})
        assert peer.is_ended_or_refused(), configs[:20]
    peer, sweep = begin()
    peer.send("submit_chunk", {"sweep": sweep, "index": 7, "configs": pack([{"a": 1}])})
    assert peer.is_ended_or_refused(), "an index that was not its turn"
    # A wrong number of configurations or a wrong digest at the end.
    for configs, chain in ((2, None), (1, bytes(32))):
        peer, sweep = begin()
        chunk = pack([{"a": 1}])
        assert peer.ask("submit_chunk", {"sweep": sweep, "index": 0, "configs": chunk})["type"] == "submit_taken"
        peer.send("submit_end", {"sweep": sweep, "configs": configs,
                                 "chain": chain or hashlib.sha256(bytes(32) + chunk).digest()}, random_id())
        assert peer.is_ended_or_refused()
        assert not client().ask("get_sweeps", {"sweep": sweep}).get("sweeps")
    # An open submit of another connection.
    peer, sweep = begin()
    other = client()
    other.send("submit_chunk", {"sweep": sweep, "index": 0, "configs": pack([{"a": 1}])})
    try:
        answer = other.receive()
        assert answer["type"] in ("error", "submit_taken")
    except Ended:
        pass
    serves_others()


def same_second():
    """Submits one configuration several times within a second: the jobs' names differ only in a number."""
    peer = client()
    n, reps = 16, 4096
    bodies = {"project": "second", "reps": reps, "reuse": "none", "no_nodes": True, "work": WORK}
    sweeps = [peer.ask("submit_begin", bodies, random_id())["sweep"] for _ in range(n)]
    chunk = pack([{"a": 1}])
    for sweep in sweeps:
        taken = peer.ask("submit_chunk", {"sweep": sweep, "index": 0, "configs": chunk})
        assert taken["type"] == "submit_taken", taken
        serves_others()
    chain = hashlib.sha256(bytes(32) + chunk).digest()
    names = set()
    for sweep in sweeps:
        done = peer.ask("submit_end", {"sweep": sweep, "configs": 1, "chain": chain}, random_id())
        assert done["type"] == "submitted" and done["queued"] == reps, done
        names.update(job["job_name"] for job in client().ask("get_jobs", {"sweep": sweep, "limit": 500})["jobs"])
    assert len(names) == n * 500, len(names)


def may_stall():
    """Submits a sweep that no worker can run, with a notification 1 ms after it stalls."""
    answer = submit(client(), "stalls", [{"a": 1}], no_nodes=True,
                    **{"!notify": [{"when": 4, "after_ms": 1, "run": "true"}]})
    assert answer["queued"] == 1, answer


def is_prompt():
    """For 8 s no reply takes much longer than a turn of ludwigd's event loop."""
    peer, longest, end = client(), 0, time.monotonic() + 8
    while time.monotonic() < end:
        began = time.monotonic()
        assert peer.ask("get_nodes", {"limit": 1})["type"] == "node_page"
        longest = max(longest, time.monotonic() - began)
        time.sleep(0.02)
    print(f"the longest took {longest:.2f} s")
    assert longest < 4, longest


def has_limits(queued_jobs, projects, open_submits):
    """The limits of one user hold; the errors tell the limit's name and value."""
    def refused(answer, limit, value):
        assert answer["type"] == "error" and answer["kind"] == "busy", answer
        assert f"may have {value}" in answer["text"] and f"limits: {limit}" in answer["text"], answer

    def begin(peer, project):
        return peer.ask("submit_begin", {"project": project, "reps": 1000, "no_nodes": True, "work": WORK}, random_id())

    peers = [client() for _ in range(int(open_submits) + 1)]
    opened = [begin(peer, "limited") for peer in peers]
    refused(opened.pop(), "open_submits", open_submits)
    for peer, each in zip(peers, opened):
        chunk = {"sweep": each["sweep"], "index": 0, "configs": pack([{"a": each["sweep"]}])}
        answer = peer.ask("submit_chunk", chunk)
        if answer["type"] != "submit_taken":
            break
    refused(answer, "queued_jobs", queued_jobs)
    for peer in peers:
        peer.close()

    def begin_alone(project):
        """Begins a submit, after ludwigd has seen that the connections before have ended."""
        answers = []

        def is_alone():
            answers.append(begin(client(), project))
            return "limits: open_submits" not in answers[-1].get("text", "")
        wait_until(is_alone, "an end of the submits before")
        return answers[-1]

    made = [begin_alone(f"p{i}") for i in range(int(projects))]
    refused(made.pop(), "projects", projects)
    assert all(each["type"] == "submit_open" for each in made), made
    # Abandoned submits do not count towards the limit.
    wait_until(lambda: begin(client(), "limited")["type"] == "submit_open", "a place for a submit")


def has_bytes(limit):
    """One user's sweeps may take so many bytes of descriptions in the database; removed ones do not count."""
    peer = client()
    work = {**WORK, "command": "true " + 30000 * "x"}
    opened = []
    for i in range(int(limit) // 30000 + 2):
        answer = peer.ask("submit_begin", {"project": "large", "reps": 1, "no_nodes": True, "work": work}, random_id())
        if answer["type"] != "submit_open":
            break
        opened.append(answer["sweep"])
        if len(opened) % 16 == 15:
            peer.close()
            peer = client()
    assert answer["type"] == "error" and answer["kind"] == "busy", answer
    assert f"may have {limit}" in answer["text"] and "limits: sweep_bytes" in answer["text"], answer
    assert len(opened) >= int(limit) // 33000, len(opened)


# ---- requests sent twice ----

def same_id():
    peer = client()
    body = {"project": "twice", "reps": 3, "no_nodes": True, "work": WORK}
    begin, end, cancel = random_id(), random_id(), random_id()
    first = peer.ask("submit_begin", body, begin)
    assert peer.ask("submit_begin", body, begin) == first
    chunk = pack([{"a": 1}, {"a": 2}])
    peer.ask("submit_chunk", {"sweep": first["sweep"], "index": 0, "configs": chunk})
    ending = {"sweep": first["sweep"], "configs": 2, "chain": hashlib.sha256(bytes(32) + chunk).digest()}
    done = peer.ask("submit_end", ending, end)
    assert done["type"] == "submitted" and done["jobs"] == 6, done
    assert peer.ask("submit_end", ending, end) == done
    assert client().ask("submit_end", ending, end) == done, "also through another connection"
    assert len(states(first["sweep"])) == 6
    target = {"targets": [{"sweep": first["sweep"], "first": 1, "last": 4}]}
    changed = peer.ask("cancel", target, cancel)
    assert changed["type"] == "changed" and changed["jobs"] == 4, changed
    assert peer.ask("cancel", target, cancel) == changed
    fresh = peer.ask("cancel", target, random_id())
    assert fresh["type"] == "error" or fresh["jobs"] == 0, fresh
    print(first["sweep"], begin.hex(), end.hex(), ending["chain"].hex())


def same_id_later(sweep, begin, end, chain):
    peer = client()
    done = peer.ask("submit_end", {"sweep": int(sweep), "configs": 2, "chain": bytes.fromhex(chain)},
                    bytes.fromhex(end))
    assert done["type"] == "submitted" and done["jobs"] == 6 and done["sweep"] == int(sweep), done
    assert len(states(int(sweep))) == 6


# ---- workers ----

def take_hand(peer):
    hand = peer.receive_kind("hand")
    body = hand["body"]
    peer.send("took", {"hand": body["hand"]}, re=hand["seq"])
    return body["assignments"]


def report(peer, token, seq, event, **more):
    return peer.ask("report", {"reports": [{"token": token, "seq": seq, "event": event, "at": 1700000000000, **more}]})


def others_attempt():
    mine = worker("mine", 1)
    sweep = submit(client(), "others", [{"a": 1}], nodes=["mine"])["sweep"]
    token = take_hand(mine)[0]["token"]
    thief = worker("thief", 1)
    for event in ("run", "end", "done", "fail", "cancel", "lose", "recall"):
        try:
            answer = report(thief, token, 1, event)
            verdicts = [each["verdict"] for each in answer.get("verdicts", [])]
            assert answer["type"] == "error" or "taken" not in verdicts, (event, answer)
        except Ended:
            thief = worker("thief", 1)
        assert states(sweep) == ["queued"], (event, states(sweep))
    # Reports of the worker that was given the attempt count.
    answer = report(mine, token, 1, "run", started_at=1700000000000)
    assert answer["verdicts"][0]["verdict"] == "taken", answer
    assert states(sweep) == ["running"]
    answer = report(mine, token, 2, "done", run_path="others/runs/param_001/x", exit_code=0)
    assert answer["verdicts"][0]["verdict"] == "taken", answer
    assert states(sweep) == ["done"]
    # The verdict on the same report again is "known"; a contrary report changes nothing.
    answer = report(mine, token, 2, "done", run_path="others/runs/param_001/x", exit_code=0)
    assert answer["verdicts"][0]["verdict"] == "known", answer
    report(mine, token, 3, "fail", exit_code=1)
    assert states(sweep) == ["done"]


def unknown_attempt():
    peer = worker("stray", 1)
    answer = report(peer, random_id(), 1, "done", run_path="x")
    assert answer["type"] == "error" or answer["verdicts"][0]["verdict"] == "superseded", answer
    peer = worker("stray", 1)
    peer.send("report", {"reports": [{"token": b"short", "seq": 1, "event": "done"}]})
    assert peer.is_ended_or_refused()
    peer = worker("stray", 1)
    peer.send("report", {"reports": [{"token": random_id(), "seq": 1, "event": "explode"}]})
    assert peer.is_ended_or_refused()
    serves_others()


def outrageous_worker():
    """Registrations with resources or names that no machine can have."""
    for more in ({"cpus_milli": -1}, {"cpus_milli": 1 << 62}, {"gpus": -5}, {"node": ""}, {"node": "a\nb"},
                 {"node": "x" * 5000}, {"kind": "toaster"}):
        peer = Peer(SOCKET).hello("ludwig-worker")
        body = {"worker": random_id(), "incarnation": random_id(), "boot_id": "b", "node": "n", "kind": "node",
                "cpus_milli": 1000, **more}
        peer.send("register", body)
        try:
            message = peer.receive()
        except Ended:
            continue
        assert message["type"] == "error", (more, message)
    serves_others()


# ---- advisors ----

SPACE = [{"name": "x", "kind": "float", "low": 0.0, "high": 1.0}]


def begin_advised(peer, space, project="advised", **more):
    search = {"advisor": "true", "space": space, "patience_ms": 1 << 30, **more}
    return peer.ask("submit_begin", {"project": project, "reps": 1, "nodes": ["advises"], "work": WORK,
                                     "ranking": {"metric": "m", "goal": "max"}, "!search": [search]}, random_id())


def advised(peer, space, **more):
    opened = begin_advised(peer, space, **more)
    assert opened["type"] == "submit_open", opened
    chunk = pack([])
    assert peer.ask("submit_chunk", {"sweep": opened["sweep"], "index": 0, "configs": chunk})["type"] == "submit_taken"
    chain = hashlib.sha256(bytes(32) + chunk).digest()
    answer = peer.ask("submit_end", {"sweep": opened["sweep"], "configs": 0, "chain": chain}, random_id())
    assert answer["type"] == "submitted", answer
    return opened["sweep"]


def record_bytes(sweep):
    n, after = 0, 0
    while True:
        page = client().ask("get_advice", {"sweep": sweep, "after": after})
        n += sum(len(line["body"]) for line in page.get("lines", []))
        after = page.get("next", 0)
        if after == 0:
            return n


def loud_advisor():
    """An advisor's lines of the greatest length, which stop very many trials or mean nothing."""
    peer = worker("advises", 1)
    sweep = advised(client(), SPACE)
    token = None
    while token is None:
        token = next((each["token"] for each in take_hand(peer) if each.get("advises")), None)
    # After the answer no question is open, so further points mean nothing.
    peer.send("advice", {"token": token, "is_ready": True})
    asked = None
    while asked is None:
        lines = map(json.loads, peer.receive_kind("advise")["body"]["text"].splitlines())
        asked = next((line for line in lines if line["type"] == "ask"), None)
    points = [{"params": {"x": i / 1000}} for i in range(asked["n"])]
    for re in asked["seq"], 0, 0:
        line = json.dumps({"type": "give", "re": re, "points": points})
        peer.send("advice", {"token": token, "line": line})
    wait_until(lambda: len(states(sweep)) == len(points), "the jobs of what was given")
    before = cpu_seconds(PID)
    peer.send("advice", {"token": token, "line": '{"type":"stop","ids":[%s]}' % ",".join(["1"] * 700000)})
    serves_others()
    for _ in range(20):
        peer.send("advice", {"token": token, "line": '{"type":"give","re":0,"wait":true,"x":"%s"}' % ("x" * 1000000)})
    peer.send("advice", {"token": token, "line": '{"type":"say","text":"%s"}' % ("x" * 1000000)})
    wait_until(lambda: peer.ask("alive", {"well": True})["type"] == "ok", "an answer")
    print("cpu", cpu_seconds(PID) - before)
    assert len(states(sweep)) == len(points), states(sweep)
    assert 1 << 20 < record_bytes(sweep) < 10 << 20, record_bytes(sweep)
    answer = client().ask("cancel", {"targets": [{"sweep": sweep}]}, random_id())
    assert answer["type"] == "changed", answer


def large_searches():
    """The memory that ludwigd needs for searches is bounded."""
    peer = client()
    choices = [{"name": "x", "kind": "choice", "values": [0] * 30000}]
    answer = begin_advised(peer, choices)
    assert answer["type"] == "error" and "30000 values" in answer["text"], answer
    answer = begin_advised(peer, [{"name": "x", "kind": "choice", "values": ["x" * 300000]}])
    assert answer["type"] == "error" and "bytes" in answer["text"], answer
    for _ in range(100):
        answer = advised(peer, SPACE)
    answer = begin_advised(peer, SPACE)
    assert answer["type"] == "error" and answer["kind"] == "busy" and "100 of your sweeps" in answer["text"], answer


def hears_nothing(uid, other):
    """The text of an advisor's error names parameters, so only the owner may see it."""
    if os.fork() == 0:
        become(int(uid))
        client().ask("open_project", {"project": "hidden", "private_project": True})
        peer = worker("advises", 1)
        sweep = advised(client(), SPACE, project="hidden")
        token = None
        while token is None:
            token = next((each["token"] for each in take_hand(peer) if each.get("advises")), None)
        peer.send("advice", {"token": token, "line": '{"type": "hush-hush"}'})

        def is_told():
            return "hush-hush" in client().ask("get_sweeps", {"sweep": sweep})["sweeps"][0].get("advisor", "")
        wait_until(is_told, "its owner to be told")
        os._exit(0)
    assert os.wait()[1] == 0
    if os.fork() == 0:
        become(int(other))
        peer = client()
        sweep = peer.ask("get_sweeps", {"limit": 1})["sweeps"][0]
        assert sweep["project"] == "hidden", sweep
        for answer in (sweep, peer.ask("get_sweeps", {"sweep": sweep["sweep"]}),
                       peer.ask("subscribe", {"sweep": sweep["sweep"]})):
            assert "hush-hush" not in str(answer), answer
        os._exit(0)
    assert os.wait()[1] == 0


def print_sweep_of(uid, make):
    told, tell = os.pipe()
    if os.fork() == 0:
        become(int(uid))
        os.write(tell, b"%d" % make())
        os._exit(0)
    os.wait()
    print(os.read(told, 100).decode())


def others_advised(uid):
    """Submits a sweep with an advisor as that user; prints its number."""
    print_sweep_of(uid, lambda: advised(client(), SPACE, project="theirs"))


def others_shell(uid, program):
    """Submits a sweep as that user whose variables would have a shell or a program run `program`; prints its number."""
    work = dict(WORK, env=[{"name": name, "value": program} for name in ("SHELL", "ENV", "BASH_ENV", "LD_PRELOAD")])
    print_sweep_of(uid, lambda: submit(client(), "shell", [{"a": 1}], work=work)["sweep"])


scenario = globals()[sys.argv[3]]
scenario(*sys.argv[4:])
assert raw.rss_bytes(PID) < 256 * MIB
