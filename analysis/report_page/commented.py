"""The plain YAML of the project's own files with what a YAML library drops: the comment beside each value."""

import dataclasses
import re

FACTORS = {
    "f": 1e-15,
    "p": 1e-12,
    "n": 1e-9,
    "u": 1e-6,
    "m": 1e-3,
    "": 1,
    "k": 1e3,
    "M": 1e6,
    "G": 1e9,
    "T": 1e12,
}
FACTORS |= {"P": 1e15, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
UNITS = {"MAC/s": ("MAC/s", 1), "FLOP/s": ("MAC/s", 0.5), "exp/s": ("exp/s", 1), "B/s": ("B/s", 1)}
UNITS |= {"B": ("B", 1), "s": ("s", 1), "J": ("J", 1), "": ("", 1)}


@dataclasses.dataclass
class File:
    """head: comment before the first key; values: {key with dots: (text, comment)}, in their order."""

    head: str
    values: dict

    def within(self, key):
        """{key: (text, comment)} of a section, its own name left out; of a scalar {'': ...}."""
        return {
            name[len(key) :].lstrip("."): value
            for name, value in self.values.items()
            if name == key or name.startswith(key + ".")
        }


def quantity(text):
    """(number, unit) of '4.8 TB/s' or '3'; None of a word."""
    match = re.fullmatch(r"([-+]?[0-9.]+(?:e[-+]?[0-9]+)?) ?([A-Za-z/]*)", text)
    if not match:
        return None
    for unit, (meant, factor) in UNITS.items():
        prefix = match[2][: len(match[2]) - len(unit)]
        if match[2] == prefix + unit and prefix in FACTORS:
            return float(match[1]) * FACTORS[prefix] * factor, meant
    return None


def same(one, other):
    """Whether two texts are the same value, whatever their prefixes."""
    a, b = quantity(one), quantity(other)
    if a is None or b is None:
        return one == other
    return a[1] == b[1] and abs(a[0] - b[0]) <= 1e-9 * max(abs(a[0]), abs(b[0]))


def split_comment(line):
    """(text, comment): a # that begins a line or follows a space, outside quotes, begins a comment."""
    quote = None
    for index, character in enumerate(line):
        if quote:
            quote = None if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character == "#" and (index == 0 or line[index - 1].isspace()):
            return line[:index].rstrip(), line[index + 1 :].strip()
    return line.rstrip(), ""


def items(text):
    """Of '{a: b, c: [d, e]}' a: b and c: [d, e]."""
    depth, start, inner = 0, 0, text[1:-1]
    for index, character in enumerate(inner + ","):
        depth += (character in "[{") - (character in "]}")
        if character == "," and depth == 0:
            if inner[start:index].strip():
                yield inner[start:index].strip()
            start = index + 1


def unquoted(text):
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text


class Reader:
    def __init__(self):
        self.values, self.anchors = {}, {}

    def put(self, key, text, comment):
        if text.startswith("&"):
            anchor, _, text = text[1:].partition(" ")
            self.anchors[anchor] = key
        if text.startswith("*"):
            origin = self.anchors.get(text[1:])
            taken = [(name, value) for name, value in self.values.items() if name.startswith(f"{origin}.")]
            self.values.update({key + name[len(origin) :]: value for name, value in taken})
        elif text.startswith("{") and text.endswith("}"):
            for item in items(text):
                name, _, value = item.partition(":")
                self.put(f"{key}.{unquoted(name.strip())}", value.strip(), comment)
        elif text:
            self.values[key] = (unquoted(text), comment)


def whole_lines(text):
    """(text, comment) a line; one whose braces or brackets are open goes on in the next."""
    begun, said = "", []
    for line in text.splitlines():
        content, comment = split_comment(line)
        begun = f"{begun} {content.strip()}" if begun else content
        said += [comment] if comment else []
        if sum(begun.count(c) for c in "{[") <= sum(begun.count(c) for c in "}]"):
            yield begun, " ".join(said)
            begun, said = "", []


def parse(text):
    """Of maps by indentation or in braces, lists in brackets, anchors; items of lists in lines of their own are left out. A comment
    in a line of its own is of the next key, if that has none beside it."""
    reader, path, head, begun, above = Reader(), [], [], False, ""
    for content, comment in whole_lines(text):
        if not content.strip():
            if not begun and comment:
                head.append(comment)
            above = comment if begun else ""
            continue
        begun = True
        indent = len(content) - len(content.lstrip())
        match = re.match(r"\s*([^\s:{\[-][^:]*):(?:\s+|$)(.*)", content)
        if not match:
            continue
        path = [part for part in path if part[0] < indent] + [(indent, unquoted(match[1].strip()))]
        reader.put(".".join(name for _, name in path), match[2].strip(), comment or above)
        above = ""
    return File(" ".join(head), reader.values)


def read(file):
    return parse(file.read_text(encoding="utf-8"))
