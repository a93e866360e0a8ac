"""HTML that is well-formed XML too: every text is escaped, every element is closed."""

import dataclasses
import html
import math
from typing import Callable


class Markup(str):
    """Text that is HTML already."""


def escaped(child):
    return child if isinstance(child, Markup) else Markup(html.escape(str(child)))


def element(name, *children, **attributes):
    """<name attributes>children</name>; class_ is class, data_value data-value; None leaves an attribute or a child out."""
    head = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    body = "".join(escaped(child) for child in children if child is not None)
    return Markup(f"<{name}{head}>{body}</{name}>")


def join(parts):
    return Markup("".join(escaped(part) for part in parts))


@dataclasses.dataclass
class Column:
    """key: of the rows, and of the file that they come from; show: value to text, None for a column of words."""

    key: str
    title: str
    show: Callable = None
    sort_key: Callable = None  # of a column of words, the number to sort by, or None

    def cell(self, value):
        if value is None or value == "" or (isinstance(value, float) and math.isnan(value)):
            return element("td", "–", class_="none")
        if self.show:
            return element("td", self.show(value), class_="number", data_value=repr(value))
        number = self.sort_key(value) if self.sort_key else None
        return element(
            "td",
            value,
            data_value=None if number is None else repr(number),
            class_=None if number is None else "number",
        )


def table(name, caption, columns, rows):
    """A table that can be sorted by each of its columns (page.js), in a frame that scrolls by itself where it is too wide.
    rows: maps from a column's key to its value; what is None, empty or NaN is shown as a dash."""
    heads = [
        element(
            "th",
            element("button", column.title, type="button"),
            scope="col",
            data_key=column.key,
            class_="number" if column.show else None,
        )
        for column in columns
    ]
    body = [element("tr", *(column.cell(row.get(column.key)) for column in columns)) for row in rows]
    made = element(
        "table",
        element("thead", element("tr", *heads)),
        element("tbody", *body),
        id=name,
        class_="sortable",
        aria_labelledby=f"{name}-caption",
    )
    frame = element(
        "div", made, class_="frame", tabindex="0", role="region", aria_labelledby=f"{name}-caption"
    )
    return join([element("p", caption, id=f"{name}-caption", class_="caption"), frame])


def facts(pairs):
    """A list of names and what they are; without those that are None."""
    items = (
        element("div", element("dt", name), element("dd", text)) for name, text in pairs if text is not None
    )
    return element("dl", *items, class_="facts")


def section(name, title, *children):
    return element(
        "section",
        element("h2", title, id=f"{name}-title"),
        *children,
        id=name,
        aria_labelledby=f"{name}-title",
    )


def folded(summary, *children):
    return element("details", element("summary", summary), *children)
