#!/usr/bin/env python3
"""One process, many jobs: how evenly do prime numbers fall into the classes of a modulus?

    python3 run.py                by hand: one job, with the defaults below
    ludwig submit sweep.yaml      all jobs of sweep.yaml, eight to a process

What takes long, finding the primes, is done once; each job then takes a fraction of a second.
So it pays to start few processes and to let each work through a chunk of the jobs.
"""

import csv
import json
import os
import sys
import traceback

DEFAULTS = {"limit": 2000000, "modulus": 4, "skip": 0}


def read_chunk():
    """The jobs of this process: a list of maps. $LUDWIG_CHUNK is msgpack, chunk.json beside it says
    the same."""
    path = os.environ.get("LUDWIG_CHUNK")
    if not path:
        return [{"job": None, "params": DEFAULTS, "save_path": "."}]
    with open(os.path.splitext(path)[0] + ".json", encoding="utf-8") as f:
        return json.load(f)


def report(job, **line):
    """Tell ludwig about one of the jobs: a line of JSON, appended to $LUDWIG_METRICS.

    report(job, accuracy=0.9, step=3)    a measure
    report(job, done=True)               this job is done: its results are published now
    report(job, failed="no such file")   it failed; the others go on

    From a shell: ludwig report --job 7.13 accuracy=0.9 --done
    """
    path = os.environ.get("LUDWIG_METRICS")
    if path:
        with open(path, "a", encoding="utf-8") as f:
            f.write(json.dumps({"job": job["job"], **line}) + "\n")


def find_primes(limit):
    """All primes below the limit, by the sieve of Eratosthenes."""
    is_prime = bytearray([1]) * limit
    is_prime[0:2] = b"\0\0"
    for n in range(2, int(limit ** 0.5) + 1):
        if is_prime[n]:
            is_prime[n * n::n] = bytes(len(range(n * n, limit, n)))
    return [n for n in range(limit) if is_prime[n]]


def main(job, primes):
    """One job: count, save the table, report how far the classes are apart."""
    modulus, skip = job["params"]["modulus"], job["params"]["skip"]
    counts = {}
    for prime in primes[skip:]:
        if modulus % prime:                     # the others are alone in their class
            counts[prime % modulus] = counts.get(prime % modulus, 0) + 1
    with open(os.path.join(job["save_path"], "classes.csv"), "w", newline="", encoding="ascii") as f:
        writer = csv.writer(f)
        writer.writerow(["class", "primes"])
        writer.writerows(sorted(counts.items()))
    spread = 1 - min(counts.values()) / max(counts.values())
    print(f"modulus {modulus}, without the first {skip}: {len(counts)} classes, spread {spread:.6f}")
    report(job, classes=len(counts), spread=spread)


if __name__ == "__main__":
    chunk = read_chunk()
    # The parameters that all jobs have in common may be taken from any of them.
    all_primes = find_primes(chunk[0]["params"]["limit"])
    for each in chunk:
        try:
            main(each, all_primes)
        except Exception as why:                # one that fails must not take the others with it
            traceback.print_exc()
            report(each, failed=f"{type(why).__name__}: {why}")
        else:
            report(each, done=True)
        sys.stdout.flush()
