"""What failing tests wrote and attached: the first test of a cause, and others where they differ."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from markupsafe import Markup

from proctor.causes import Cause
from proctor.events import OWN_FILES, File, Phase, TestFinished
from proctor.render.failure_block import captured_texts
from proctor.render.page.ansi import coloured
from proctor.render.page.around import IMAGE, Around, image
from proctor.render.page.markup import shortened
from proctor.text import text_of

_TEXT = 40_000  # characters of a text that are shown: half of them at its head, half at its tail
_TEXTS = 20  # of one test
_OTHERS = 5  # tests of a cause, beside its first, whose output is shown
_OTHER_TEXT = 8_000  # characters of a text of these
_FILES = 20  # of one cause
_IMAGES = 10_000_000  # bytes of images on one page: later ones are linked


class Text(msgspec.Struct):
    """What a test wrote: the whole, or its head and its tail. A title alone says what is left out."""

    title: str
    head: Markup
    left_out: int = 0
    tail: Markup = Markup()
    link: str = ""  # to all of it


class Attached(msgspec.Struct):
    name: str
    size: int
    link: str = ""
    image: str = ""


class Written(msgspec.Struct):
    """What the tests of a cause wrote."""

    texts: list[Text] = []  # of the first
    others: list[Text] = []  # of others that wrote something else
    others_shown: int = 0  # so many tests
    others_left: int = 0  # and so many more


class Evidence:
    """Reads and links through `around`. What a test wrote stands in the first cause that the test has."""

    def __init__(self, around: Around) -> None:
        self._around = around
        self._told: set[str] = set()  # tests whose output is on the page
        self._room = _IMAGES

    def written(self, cause: Cause) -> Written:
        found, several = Written(), len(cause.tests) > 1
        known: set[tuple[str, ...]] = set()
        for number, test in enumerate(_tests(cause)):
            words = tuple(text for phase in test.phases for _, text in captured_texts(phase))
            if not words or words in known or test.test in self._told:
                continue
            known.add(words)
            if not number:
                found.texts = list(self._texts(test, several, _TEXT))
            elif found.others_shown < _OTHERS:
                found.others += self._texts(test, several, _OTHER_TEXT)
                found.others_shown += 1
            else:
                found.others_left += 1
                continue
            self._told.add(test.test)
        return found

    def _texts(self, test: TestFinished, several: bool, most: int) -> Iterator[Text]:
        whose = f" ({test.test})" if several else ""
        by_name = {file.name: file for file in test.files}
        texts = [(phase, *one) for phase in test.phases for one in captured_texts(phase)]
        for phase, kind, text in texts[:_TEXTS]:
            kept = by_name.get((phase.files or {}).get(kind, ""))
            title = f"{kind} of {_step(phase)}{whose}"
            yield self._kept(title, text, kept, most) if kept else shown_text(title, text, most=most)
        if len(texts) > _TEXTS:
            yield Text(f"{len(texts) - _TEXTS} more texts{whose}", Markup())

    def _kept(self, title: str, tail: str, file: File, most: int) -> Text:
        """A text that is too long for the events: these have its end, a file has all of it."""
        data = self._around.read(file.path, most // 2)
        whole = data.rfind(b"\n") + 1 or data.rfind(b" ") + 1  # half a secret would not be masked
        head = text_of(data[:whole])
        shown = self._around.mask(head)
        tail = tail[-most // 2 :]
        left_out = max(1, file.size - len(head.encode()) - len(tail.encode("utf-8", "replace")))
        return Text(title, coloured(shown), left_out, coloured(tail), self._around.link(file.path))

    def files(self, cause: Cause) -> tuple[list[Attached], int]:
        """The first ones, and how many more there are."""
        found = [file for test in _tests(cause) for file in _files(test)]
        return [self._attached(file) for file in found[:_FILES]], max(0, len(found) - _FILES)

    def _attached(self, file: File) -> Attached:
        address = ""
        if file.size <= min(IMAGE, self._room):
            address = image(self._around.read(file.path, IMAGE + 1))
            self._room -= file.size if address else 0
        return Attached(file.name, file.size, self._around.link(file.path), address)


def _tests(cause: Cause) -> list[TestFinished]:
    """Each once, in their order: a test can fail in several ways."""
    return list({id(one.finished): one.finished for one in cause.occurrences if one.finished}.values())


def _files(test: TestFinished) -> Iterator[File]:
    """Those that the test itself attached, then its output under the name that it gave it."""
    yield from (file for file in test.files if not file.name.endswith(OWN_FILES))
    if test.testout is not None:
        yield File(test.testout.name, test.testout.path, 0)


def _step(phase: Phase) -> str:
    return f"{phase.when} [{phase.subtest}]" if phase.subtest else phase.when


def shown_text(title: str, text: str, link: str = "", most: int = _TEXT) -> Text:
    """A text as a page shows it: a long one with its head and its tail."""
    head, left_out, tail = shortened(text.strip("\n"), most)
    return Text(title, coloured(head), left_out, coloured(tail), link)
