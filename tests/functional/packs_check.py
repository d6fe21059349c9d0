# packs_check.py <PATHS - prints the manifests, blocks, lists and parts whose content does not fit their names
#
# A manifest, block or list is named by its SHA-256; a part must hold the pieces that its list names, as
# docs/internals/packs.md says.
import hashlib
import io
import os
import subprocess
import sys
import tarfile


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def unpacked(path):
    with open(path, "rb") as f:
        if path.endswith(".zst"):
            return subprocess.run(["zstd", "-dcq"], stdin=f, stdout=subprocess.PIPE, check=True).stdout
        return f.read()


def column(stored, name, width):
    """The values, each `width` bytes, of a column of a list; a column is a msgpack bin."""
    at = stored.index(bytes([0xA0 + len(name)]) + name) + 1 + len(name)
    length_bytes = {0xC4: 1, 0xC5: 2, 0xC6: 4}[stored[at]]
    begin = at + 1 + length_bytes
    n = int.from_bytes(stored[at + 1:begin], "big")
    return [stored[i:i + width] for i in range(begin, begin + n, width)]


def tar_pieces(content):
    with tarfile.open(fileobj=io.BytesIO(content), mode="r|") as tar:
        return [tar.extractfile(entry).read() for entry in tar]


def pieces(path, sizes):
    content = unpacked(path)
    if path.endswith(".tar.zst"):
        return tar_pieces(content)
    ends = [sum(sizes[:i + 1]) for i in range(len(sizes))]
    found = [content[end - size:end] for end, size in zip(ends, sizes)]
    return found + [content[ends[-1]:]] if ends[-1] < len(content) else found


def is_right(path):
    name, ending = os.path.basename(path).split(".", 1)
    if ending not in ("raw", "zst", "tar.zst"):
        with open(path, "rb") as f:
            return sha256(f.read()) == name
    path_of_list = os.path.join(os.path.dirname(path), name + ".list")
    if not os.path.exists(path_of_list):
        return True  # its sender was killed before it sent the list: nothing refers to the part
    with open(path_of_list, "rb") as f:
        stored = f.read()
    sizes = [int.from_bytes(size, "little") for size in column(stored, b"sizes", 4)]
    wanted = [digest.hex() for digest in column(stored, b"digests", 32)]
    try:
        return [sha256(piece) for piece in pieces(path, sizes)] == wanted
    except (subprocess.CalledProcessError, tarfile.TarError):
        return False


wrong = [path for path in sys.stdin.read().splitlines() if not is_right(path)]
print("\n".join(wrong), end="")
sys.exit(1 if wrong else 0)
