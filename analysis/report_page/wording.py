"""Numbers as texts, as the program's own tables print them (sim/report/text.cpp)."""

from plots import style

context = style.count_text


def microseconds(value):
    return f"{value:,.0f}" if value >= 1e7 else f"{value:,.1f}" if value >= 1e5 else f"{value:,.3f}"


def count(value):
    return f"{value:,.0f}"


def ratio(value):
    return f"{value:.3f}×"


def share(value):
    return f"{100 * value:.1f} %"


def deviation(value):
    return "0" if value == 0 else f"{100 * value:+.2f} %" if abs(value) >= 5e-5 else f"{value:+.1e}"


def error(value):
    return f"{value:.1e}"


def rate(value):
    return f"{value:,.1f}"


def positions(value):
    return f"{value:,.3f}"


def plain(value):
    return f"{value:,.6g}" if abs(value) < 1e6 else f"{value:,.0f}"


def number(value):
    """Six digits, with a prefix: 819.2 G."""
    for size, prefix in ((1e15, " P"), (1e12, " T"), (1e9, " G"), (1e6, " M"), (1e3, " k")):
        if value >= size:
            return f"{value / size:.6g}{prefix}"
    return f"{value:.6g} "


def size(value):
    for unit, prefix in ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if value >= unit:
            return f"{value / unit:,.1f} {prefix}"
    return f"{value:,.0f} B"


def capacity(value):
    """Of a memory: in GiB where these are whole, else in GB."""
    return f"{value // 2**30:,} GiB" if value % 2**30 == 0 else f"{number(value)}B"


def counted(amount, noun):
    return f"{amount:,} {noun}" + ("" if amount == 1 else "s")


def listed(items):
    """a; a and b; a, b and c"""
    items = list(items)
    return items[0] if len(items) == 1 else ", ".join(items[:-1]) + " and " + items[-1] if items else ""
