#!/usr/bin/env python3
"""package.py FOLDER MODULES - makes an environment with a package `large`, whose module `large.all` imports all others

Thirty modules of some 4 KiB per folder, compiled, as after pip.
"""
import compileall
import sys
from pathlib import Path

folder, modules = Path(sys.argv[1]), int(sys.argv[2])
top = folder / "lib/site-packages/large"
names = []
for i in range(modules):
    below = top / f"part{i // 30:03}"
    below.mkdir(parents=True, exist_ok=True)
    (below / "__init__.py").touch()
    text = f'"""Module {i}."""\n\n'
    for k in range(12):
        text += (f"def function_{k}(first, second={k}, *rest, **named):\n"
                 f'    """Adds {i} and {k} to what it is given, and says so in more words than that takes."""\n'
                 f"    total = first + second + {i} + sum(rest)\n"
                 f"    return [total, named.get('name_{k}', 'nothing_{i}_{k}'), [x * {k + 1} for x in rest]]\n\n\n")
    (below / f"module{i:05}.py").write_text(text)
    names.append(f"large.part{i // 30:03}.module{i:05}")
(top / "__init__.py").touch()
(top / "all.py").write_text("".join(f"import {name}\n" for name in names))
compileall.compile_dir(str(top), quiet=2, workers=1)
