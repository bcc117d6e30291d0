"""A line that somebody types, key by key. Values only."""

from __future__ import annotations

ENTER, ESCAPE = "\n", "\x1b"
_ERASE = ("\x7f", "\b")
_ERASE_WORD, _ERASE_ALL, _END = "\x17", "\x15", "\x04"


def keys_of(text: str) -> list[str]:
    """The keys that a terminal has sent. What arrows and other keys without a character send is none."""
    keys: list[str] = []
    at = 0
    while at < len(text):
        if text[at] == ESCAPE and text[at + 1 : at + 2] in ("[", "O"):
            at += 2
            while at < len(text) and not "@" <= text[at] <= "~":
                at += 1
        else:
            keys.append(ENTER if text[at] == "\r" else text[at])
        at += 1
    return keys


class Prompt:
    """`text` is what was typed so far."""

    def __init__(self) -> None:
        self.text = ""

    def press(self, key: str) -> bool:
        """Whether that was the last key. Then an empty text means: nothing is asked for."""
        if key == ENTER:
            return True
        if key in (ESCAPE, _END):
            self.text = ""
            return True
        if key in _ERASE:
            self.text = self.text[:-1]
        elif key == _ERASE_WORD:
            self.text = self.text.rstrip().rpartition(" ")[0]
        elif key == _ERASE_ALL:
            self.text = ""
        elif key.isprintable():
            self.text += key
        return False
