"""An SVG of matplotlib as part of a page: no identifier twice, no foreign address, and the page's colours of text and paper."""

import re
import xml.etree.ElementTree as xml

from .markup import Markup

# What a dark page shows otherwise; every other colour is the same in both (plots/style.py).
COLOURS = {
    "#000000": "var(--ink)",
    "#0072b2": "var(--blue)",
    "#ffffff": "var(--paper)",
    "#e3e3e3": "var(--grid)",
    "#555555": "var(--soft)",
    "#888888": "var(--soft)",
    "#d9d9d9": "var(--gap)",
}
LEFT_OUT = {"metadata", "style"}


def name_of(qualified):
    return qualified.rpartition("}")[2]


def themed(style):
    return re.sub(r"#[0-9a-f]{6}", lambda match: COLOURS.get(match[0], match[0]), style)


def attributes(element, prefix):
    made, style = {}, element.get("style", "")
    for qualified, value in element.attrib.items():
        key = name_of(qualified)
        if key == "id":
            made[key] = prefix + value
        elif key == "href" and value.startswith("#"):
            made[key] = "#" + prefix + value[1:]
        elif key in ("fill", "stroke") and value in COLOURS:  # an attribute of this kind takes no variable
            style = f"{key}: {value}; {style}"
        elif key != "style":
            made[key] = re.sub(r"url\(#", f"url(#{prefix}", value)
    if style:
        made["style"] = themed(re.sub(r"url\(#", f"url(#{prefix}", style))
    return made


def copied(element, prefix):
    """Without namespaces, which HTML gives to what stands in <svg>, and without white space between elements."""
    made = xml.Element(name_of(element.tag), attributes(element, prefix))
    made.text = (element.text or "").strip() or None
    made.extend(
        copied(child, prefix)
        for child in element
        if isinstance(child.tag, str) and name_of(child.tag) not in LEFT_OUT
    )
    return made


def inline(svg, prefix, label):
    """svg: bytes of a file; prefix: what its identifiers get, other than any other picture's; label: what it shows."""
    made = copied(xml.fromstring(svg), prefix)
    for key in ("version", "height", "width"):
        made.attrib.pop(key, None)
    made.attrib.update({"role": "img", "aria-label": label})
    return Markup(xml.tostring(made, encoding="unicode"))
