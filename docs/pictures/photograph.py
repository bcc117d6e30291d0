"""Takes the pictures of a report in a real browser, for the docs: `make pictures`."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent.parent / "tests"))

from support.browser import Browser, NoBrowser
from support.pictures import SHOTS, photograph, sample_page

HERE = Path(__file__).resolve().parent


def main() -> None:
    try:
        with Browser() as browser, tempfile.TemporaryDirectory() as directory:
            page = sample_page(Path(directory))
            for name, shot in SHOTS.items():
                picture, fonts = photograph(browser, page, shot)
                (HERE / f"{name}.png").write_bytes(picture)
                print(f"{name}.png: {len(picture):,} bytes")
            (HERE / "fonts.json").write_text(json.dumps(fonts) + "\n")
    except NoBrowser as error:
        print(f"report-*.png stay as they are: {error}")


if __name__ == "__main__":
    main()
