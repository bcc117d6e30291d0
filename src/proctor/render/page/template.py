"""Templates, style and script of the pages, and the policy by which a browser takes nothing else."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup

from proctor import __version__
from proctor.render.page.markup import fragment, line, visible
from proctor.text import utf8

_PIECE = 1 << 16  # characters that are written at once
_FOLDER = "templates"


def page(template: str, values: dict[str, Any]) -> Iterator[bytes]:
    """The page, in pieces. Every text among the values is made harmless and escaped."""
    style, script = _asset("page.css"), _asset("page.js")
    common = {"style": Markup(style), "script": Markup(script), "policy": policy(style, script)}
    pending: list[str] = []
    size = 0
    for part in _environment().get_template(template).generate(values | common | {"version": __version__}):
        pending.append(part)
        size += len(part)
        if size > _PIECE:
            yield utf8("".join(pending))
            pending, size = [], 0
    yield utf8("".join(pending))


def policy(style: str, script: str) -> str:
    """Nothing but this style and this script, images in the page itself, and no way to call home."""
    allowed = f"script-src 'sha256-{_hash(script)}'; style-src 'sha256-{_hash(style)}'; img-src data:"
    return f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    return base64.b64encode(sha256(text.encode()).digest()).decode()


@cache
def _asset(name: str) -> str:
    return files(__package__).joinpath(_FOLDER, name).read_text("utf-8")


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_asset),
        autoescape=True,
        finalize=_harmless,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"line": line, "fragment": fragment, "size": _size}
    return environment


def _size(size: int) -> str:
    """`3 bytes`, `199.0 kB`, `10.5 MB`."""
    if size < 1000:
        return f"{size} byte{'s' * (size != 1)}"
    return f"{size / 1000:.1f} kB" if size < 999_950 else f"{size / 1e6:.1f} MB"


def _harmless(value: Any) -> Any:
    """Called with whatever a template writes."""
    return visible(value) if type(value) is str else value
