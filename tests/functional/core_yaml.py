# core_yaml.py - reads YAML 1.2 with the types of its core schema, which PyYAML does not support
import re

import yaml


class Loader(yaml.SafeLoader):
    """PyYAML's loader without the rules of YAML 1.1 for numbers, dates and booleans."""


Loader.yaml_implicit_resolvers = {}


def resolver(tag, pattern, make):
    tag = "tag:yaml.org,2002:" + tag
    Loader.add_implicit_resolver(tag, re.compile("^(?:%s)$" % pattern), None)
    Loader.add_constructor(tag, lambda loader, node: make(loader.construct_scalar(node)))


def whole(text):
    return int(text, 0) if text[:2] in ("0o", "0x") else int(text, 10)


def special(text):
    return float(text.replace(".", "", 1)) if text.lower().endswith((".inf", ".nan")) else float(text)


resolver("null", "~|null|Null|NULL|", lambda text: None)
resolver("bool", "true|True|TRUE|false|False|FALSE", lambda text: text.lower() == "true")
resolver("int", "[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", whole)
resolver("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)", special)
Loader.add_implicit_resolver("tag:yaml.org,2002:merge", re.compile("^<<$"), ["<"])


def load(stream):
    return yaml.load(stream, Loader)


def same(x, y):
    """Whether x and y are equal and of the same types: 1, 1.0 and True differ."""
    if type(x) is not type(y):
        return False
    if isinstance(x, list):
        return len(x) == len(y) and all(map(same, x, y))
    if isinstance(x, dict):
        return list(x) == list(y) and all(same(x[key], y[key]) for key in x)
    return repr(x) == repr(y)
