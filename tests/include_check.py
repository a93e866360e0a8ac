#!/usr/bin/env python3
"""Reads every #include of the project's C++ files and fails on one that points the wrong way.

include_check.py [ROOT]      check the project (default: the one this file lies in)
include_check.py --self-test plant wrong includes in a temporary folder and see each of them caught
"""

import pathlib
import re
import sys
import tempfile

# What a folder may include of ours, besides itself.
ALLOWED = {
    "models/base": [],
    "models/kernels": ["models/base"],
    "models/decode": ["models/kernels", "models/base"],
    "models/hardware": ["models/decode", "models/kernels", "models/base"],
    "models/system": ["models/hardware", "models/decode", "models/kernels", "models/base"],
    "analysis": ["models/decode", "models/base"],
    "sim": ["analysis", "models/system", "models/hardware", "models/decode", "models/kernels", "models/base"],
}

# Libraries that only some places may include: pattern of the header, places, what to call it.
RESTRICTED = [
    (r"systemc(\.h)?|tlm(\.h)?|(tlm_|sysc/|tlm_core/|tlm_utils/).*",
     ["models/hardware", "models/system", "sim/main.cpp", "sim/run"], "SystemC"),
    (r"yaml-cpp/.*", ["sim/config"], "yaml-cpp"),
    (r"iostream|fstream",
     ["models/decode", "models/hardware", "models/system", "analysis", "sim"], "input and output"),
]

# The base stands on the standard library (headers without a folder or a suffix) and on fmt.
BASE_HEADER = r"[a-z_]+|fmt/.*"

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def inside(path, places):
    return any(path == place or path.startswith(place + "/") for place in places)


def folder_of(path):
    return next((folder for folder in ALLOWED if inside(path, [folder])), None)


def target_of(root, source, header):
    """The project's file that an include names, relative to the root; None if it is not ours."""
    for base in (source.parent, root / "models", root):
        found = (base / header).resolve()
        if found.is_file() and found.is_relative_to(root):
            return found.relative_to(root).as_posix()
    return None


def complaint(root, source, quote, header):
    """What is wrong with one include, or None."""
    path = source.relative_to(root).as_posix()
    folder = folder_of(path)
    if folder is None:
        return "this file is in none of the folders " + ", ".join(ALLOWED)
    target = target_of(root, source, header)
    if target:
        to = folder_of(target)
        if to == folder or to in ALLOWED[folder]:
            return None
        return f"{folder} may not include {to or target}"
    if quote == '"':
        return f'no file "{header}" here, under models/ or under the top folder'
    for pattern, places, name in RESTRICTED:
        if re.fullmatch(pattern, header) and not inside(path, places):
            return f"<{header}>: {name} is only for {', '.join(places)}"
    if folder == "models/base" and not re.fullmatch(BASE_HEADER, header):
        return f"<{header}>: {folder} stands on the standard library and fmt only"
    return None


def check(root):
    """The complaints about all files under root, as `file:line: text`."""
    root = root.resolve()
    found = []
    for top in ("models", "sim", "analysis"):
        for source in sorted((root / top).rglob("*.[ch]pp")):
            for number, line in enumerate(source.read_text(encoding="utf-8").splitlines(), 1):
                match = INCLUDE.match(line)
                text = match and complaint(root, source, *match.groups())
                if text:
                    found.append(f"{source.relative_to(root)}:{number}: {text}")
    return found


# File, an include in it, whether that is allowed.
PLANTED = [
    ("models/base/a.hpp", "<vector>", True),
    ("models/base/a.hpp", "<fmt/format.h>", True),
    ("models/base/a.hpp", "<yaml-cpp/yaml.h>", False),
    ("models/base/a.hpp", "<boost/any.hpp>", False),
    ("models/base/a.hpp", "<iostream>", False),
    ("models/base/a.hpp", '"kernels/a.hpp"', False),
    ("models/kernels/b.cpp", '"base/a.hpp"', True),
    ("models/kernels/b.cpp", '"models/decode/a.hpp"', False),
    ("models/kernels/b.cpp", "<fstream>", False),
    ("models/kernels/b.cpp", "<systemc>", False),
    ("models/decode/b.cpp", '"kernels/a.hpp"', True),
    ("models/decode/b.cpp", '"../hardware/a.hpp"', False),
    ("models/decode/b.cpp", "<tlm_utils/simple_initiator_socket.h>", False),
    ("models/decode/b.cpp", '"decode/nowhere.hpp"', False),
    ("models/hardware/b.cpp", "<systemc>", True),
    ("models/hardware/b.cpp", '"system/a.hpp"', False),
    ("models/system/b.cpp", '"hardware/a.hpp"', True),
    ("models/system/b.cpp", '"sim/config/a.hpp"', False),
    ("models/system/b.cpp", "<yaml-cpp/yaml.h>", False),
    ("analysis/b.cpp", '"decode/a.hpp"', True),
    ("analysis/b.cpp", '"system/a.hpp"', False),
    ("analysis/b.cpp", "<systemc.h>", False),
    ("sim/config/b.cpp", "<yaml-cpp/yaml.h>", True),
    ("sim/config/b.cpp", "<systemc>", False),
    ("sim/run/b.cpp", "<systemc>", True),
    ("sim/run/b.cpp", '"system/a.hpp"', True),
    ("sim/run/b.cpp", '"tests/support/a.hpp"', False),
    ("sim/run/b.cpp", "<yaml-cpp/node/node.h>", False),
    ("sim/main.cpp", "<systemc>", True),
    ("models/stray.hpp", "<vector>", False),
]


def self_test():
    wrong = []
    for file, header, allowed in PLANTED:
        with tempfile.TemporaryDirectory() as name:
            root = pathlib.Path(name)
            for folder in [*ALLOWED, "sim/config", "sim/run", "tests/support"]:
                (root / folder).mkdir(parents=True, exist_ok=True)
                (root / folder / "a.hpp").write_text("#pragma once\n")
            (root / file).write_text(f"#pragma once\n#include {header}\n")
            found = check(root)
            caught = len(found) == 1 and found[0].startswith(f"{file}:2: ")
            if found if allowed else not caught:
                wrong.append(f"{file} with {header}: {'allowed' if allowed else 'not allowed'}, but got {found}")
    return wrong


def main():
    if sys.argv[1:] == ["--self-test"]:
        wrong = self_test()
    else:
        wrong = check(pathlib.Path(sys.argv[1]) if sys.argv[1:] else pathlib.Path(__file__).resolve().parents[1])
    print("\n".join(wrong), file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
