"""One page of the results in a folder: everything in it, nothing loaded from elsewhere, the same bytes of the same results."""

import pathlib

from plots import results

from . import run_page, sources_part, sweep_page
from .markup import Markup, element, join

HERE = pathlib.Path(__file__).parent
SECTIONS = [
    ("configuration", "Configuration"),
    ("results", "Results"),
    ("plots", "Plots"),
    ("ledger", "Ledger"),
    ("numerics", "Numeric check"),
    ("sources", "Sources"),
]


def contents():
    links = (element("li", element("a", title, href=f"#{name}")) for name, title in SECTIONS)
    return element("nav", element("ul", *links), aria_label="Sections")


def make(folder, configs):
    """The page as text. folder: of a run or a sweep; configs: folders of presets. BadInput where it cannot be read."""
    folder = pathlib.Path(folder)
    is_sweep, is_run = (folder / results.SWEEP).is_file(), (folder / results.SUMMARY).is_file()
    if not is_sweep and not is_run:
        raise results.BadInput(
            f"{folder} has neither {results.SUMMARY} of qfsim run nor {results.SWEEP} of qfsim sweep"
        )
    kind = sweep_page if is_sweep else run_page
    try:
        title, head, parts, sources = kind.body(folder, configs)
    except KeyError as key:
        raise results.BadInput(f"{folder}: the page needs {key}, which is not there")
    made = join([head, contents(), *parts, sources_part.part(*sources)])
    page = element(
        "html",
        element(
            "head",
            Markup('<meta charset="utf-8"/>'),
            Markup('<meta name="viewport" content="width=device-width, initial-scale=1"/>'),
            Markup('<meta name="generator" content="qfsim report"/>'),
            element("title", f"{title} - qfsim"),
            element("style", Markup((HERE / "page.css").read_text(encoding="utf-8"))),
        ),
        element(
            "body",
            element("main", made),
            element("script", Markup((HERE / "page.js").read_text(encoding="utf-8"))),
        ),
        lang="en",
    )
    return f"<!DOCTYPE html>\n{page}\n"
