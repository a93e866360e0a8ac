#!/usr/bin/env python3
"""Writes the request traces of this folder. The same numbers every time: each file has its own seed.

Usage: make_traces.py [FOLDER]   (default: the folder of this script)
"""
import csv
import math
import pathlib
import random
import sys

# name, seed, requests, median context, spread (standard deviation of its natural logarithm), least and most
# context, tokens
TRACES = [
    ("mixed-8", 1, 8, 2048, 1.0, 128, 16384, 4),
    ("mixed-32", 2, 32, 4096, 1.2, 128, 65536, 4),
    ("long-tail-64", 3, 64, 1024, 1.8, 64, 131072, 3),
]


def requests(seed, count, median, spread, least, most, tokens):
    """Contexts are log-normal, as measured ones roughly are, cut to a range; all arrive at the start."""
    draw = random.Random(seed)
    for number in range(count):
        context = round(median * math.exp(draw.gauss(0, spread)))
        yield number, 0, min(max(context, least), most), tokens


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent
    for name, *parameters in TRACES:
        with open(folder / f"{name}.csv", "w", newline="", encoding="ascii") as file:
            rows = csv.writer(file, lineterminator="\n")
            rows.writerow(["request", "arrival_us", "context", "tokens"])
            rows.writerows(requests(*parameters))


if __name__ == "__main__":
    main()
