"""axe-core: what makes a page hard to use for people who do not see it, hear it or point at it."""

from __future__ import annotations

from support.javascript import node_modules
from support.page import Page

PACKAGE = "axe-core@4.14.0"


def faults(page: Page) -> list[str]:
    """What axe-core finds on the page as it is now: its rule, and the elements."""
    page.evaluate((node_modules(PACKAGE) / "axe-core" / "axe.min.js").read_text(encoding="utf-8") + ";0")
    found = page.evaluate(
        "axe.run(document, {resultTypes: ['violations']}).then(all => all.violations.map("
        "one => one.id + ': ' + one.help + ': ' + one.nodes.slice(0, 3).map(node => node.html + ' '"
        " + node.failureSummary).join(' | ')))"
    )
    return [str(one) for one in found]
