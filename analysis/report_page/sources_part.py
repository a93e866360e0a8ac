"""The part of the page that says where every number of the machine comes from."""

from . import commented, sources
from .markup import Column, element, folded, join, section, table


def by_size(text):
    """A number to sort by of a value with a unit; None of words."""
    value = commented.quantity(text)
    return value[0] if value else None


COLUMNS = [
    Column("part", "Part"),
    Column("key", "Number"),
    Column("value", "Value", sort_key=by_size),
    Column("kind", "Kind"),
    Column("source", "Source"),
    Column("file", "Stands in"),
]


def part(rows, heads, note):
    """rows and heads as of sources.of_run; note: what else there is to say."""
    own = sum(row["kind"] == sources.OWN for row in rows)
    said = (
        f"Measured, vendor, derived, fitted and assumed are the words of the file that states the number; {own} of {len(rows)} "
        "numbers are given without a source there and are the user's own."
    )
    inner = [row for row in rows if row["key"].startswith(tuple(f"{name}." for name in sources.WITHIN))]
    outer = [row for row in rows if row not in inner]
    parts = [element("p", said), element("p", note) if note else None]
    if outer:
        parts.append(
            element("div", table("sources-table", "The machine's numbers.", COLUMNS, outer), class_="prose")
        )
    if inner:
        inside = table("sources-inner-table", "Numbers of DRAM and of measured kernels.", COLUMNS, inner)
        parts.append(
            folded(
                f"{len(inner)} numbers of DRAM and of measured kernels",
                element("div", inside, class_="prose"),
            )
        )
    said = (
        join([element("dt", element("code", name)), element("dd", head)])
        for name, head in sorted(heads.items())
    )
    parts.append(element("h3", "Heads of those files") if heads else None)
    parts.append(element("dl", *said) if heads else None)
    return section("sources", "Where the numbers come from", *parts)
