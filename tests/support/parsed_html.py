"""Reads pages as browsers do, and fails where a browser would have to repair something."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from xml.etree.ElementTree import Element

import html5lib


def parsed(page: bytes | Iterable[bytes]) -> Element:
    """The `html` element. Raises for anything that the HTML standard calls an error."""
    data = page if isinstance(page, bytes) else b"".join(page)
    parser = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False)
    root: Element = parser.parse(data.decode())
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]  # SVG has a namespace of its own
    return root


def shown(element: Element | None) -> str:
    """Its text, with runs of blanks as one."""
    assert element is not None
    return " ".join("".join(element.itertext()).split())


def by_id(root: Element, name: str) -> Element:
    found = [element for element in root.iter() if element.get("id") == name]
    assert len(found) == 1, f"{len(found)} elements have the id {name}"
    return found[0]


def by_class(root: Element, name: str) -> list[Element]:
    return [element for element in root.iter() if name in (element.get("class") or "").split()]


def rows(root: Element) -> dict[str, Element]:
    """Of all tests, by the id."""
    found = [element for element in by_id(root, "tests").iter() if element.get("data-id") is not None]
    by_test = {element.get("data-id", ""): element for element in found}
    assert len(by_test) == len(found)
    return by_test


def attributes(root: Element) -> Iterator[tuple[str, str, str]]:
    """(element, attribute, value) of all."""
    for element in root.iter():
        for name, value in element.attrib.items():
            yield str(element.tag), name, value
