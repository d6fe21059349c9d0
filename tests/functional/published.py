#!/usr/bin/env python3
# published.py - checks the folders under runs/ and failed/ of a project on the share
"""usage: published.py PROJECT_FOLDER

Each folder must have exactly the files that its job.json lists, with the size and SHA-256
given there.  No job may have two results.  Prints "JOB TOKEN ATTEMPT FOLDER" for each
folder under runs/.
"""

import hashlib
import json
import os
import re
import sys

problems = []


def files_below(folder):
    for at, _, names in os.walk(folder):
        for name in names:
            yield os.path.relpath(os.path.join(at, name), folder)


def sha256(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def check_folder(folder):
    try:
        with open(os.path.join(folder, "job.json")) as file:
            job = json.load(file)
    except (OSError, ValueError) as why:
        problems.append(f"{folder}: job.json: {why}")
        return None
    listed = {entry["path"]: entry for entry in job["files"]}
    there = set(files_below(folder)) - {"job.json"}
    if there != set(listed):
        problems.append(f"{folder}: {sorted(there ^ set(listed))} are not in both job.json and the folder")
    for path in there & set(listed):
        whole = os.path.join(folder, path)
        if os.path.islink(whole):
            continue
        if os.path.getsize(whole) != listed[path]["size"] or sha256(whole) != listed[path]["sha256"]:
            problems.append(f"{whole}: its size or SHA-256 is not what job.json says")
    return job


def check_below(project, kind):
    jobs = {}
    root = os.path.join(project, kind)
    for param in sorted(os.listdir(root)) if os.path.isdir(root) else ():
        if not re.fullmatch(r"param_\d{3,}", param):
            problems.append(f"{root}: {param} is no configuration")
        for name in sorted(os.listdir(os.path.join(root, param))):
            folder = os.path.join(root, param, name)
            if not os.path.isdir(folder):
                if name != "param2val.yaml":
                    problems.append(f"{folder} is no folder")
            elif name.startswith("."):
                problems.append(f"{folder} was left half-made")
            elif job := check_folder(folder):
                jobs.setdefault(job["job"], []).append((job, folder))
    return jobs


def main():
    project = sys.argv[1]
    for job, results in check_below(project, "runs").items():
        if len(results) > 1:
            problems.append(f"job {job} has {len(results)} results: {[folder for _, folder in results]}")
        for result, folder in results:
            print(job, result["token"], result["attempt"], folder)
    check_below(project, "failed")
    for problem in problems:
        print(problem, file=sys.stderr)
    sys.exit(1 if problems else 0)


main()
