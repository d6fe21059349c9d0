#!/usr/bin/env python3
"""images.py FOLDER FILES - makes files of 2 to 14 KiB, a thousand per folder, half of each compressible"""
import os, random, sys

random.seed(1)
noise, text = os.urandom(1 << 24), b"the quick brown fox " * 400
for i in range(int(sys.argv[2])):
    below = f"{sys.argv[1]}/class_{i // 1000:03}"
    if i % 1000 == 0:
        os.makedirs(below)
    n = random.randrange(1024, 7169)
    at = random.randrange(len(noise) - n)
    with open(f"{below}/img_{i:06}.png", "wb") as f:
        f.write(b"%d" % i + noise[at:at + n] + text[:n])
