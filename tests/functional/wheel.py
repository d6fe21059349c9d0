#!/usr/bin/env python3
"""wheel.py FOLDER NAME VERSION [MODULES] - makes a wheel of a small package, which pip can install

The package has the attribute `value`, its version, a script NAME-tool, and MODULES (0) modules m0, m1, ...
"""
import base64
import hashlib
import sys
import zipfile
from pathlib import Path

folder, name, version = sys.argv[1:4]
modules = int(sys.argv[4]) if len(sys.argv) > 4 else 0
info = f"{name}-{version}.dist-info"
files = {
    f"{name}/__init__.py": f"value = '{version}'\n",
    f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
    f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    f"{info}/entry_points.txt": f"[console_scripts]\n{name}-tool = {name}:tool\n",
}
files[f"{name}/__init__.py"] += f"def tool():\n    import sys\n    print('tool', value, sys.prefix)\n"
for i in range(modules):
    files[f"{name}/m{i}.py"] = f"number = {i}\n"
record = ""
for path, text in files.items():
    digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
    record += f"{path},sha256={digest},{len(text.encode())}\n"
files[f"{info}/RECORD"] = record + f"{info}/RECORD,,\n"

Path(folder).mkdir(parents=True, exist_ok=True)
with zipfile.ZipFile(Path(folder) / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
    for path, text in files.items():
        wheel.writestr(path, text)
