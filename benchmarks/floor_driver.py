"""The least that a reader of the control channel can do, to see how far from it a real one is.

    python floor_driver.py frames|splice|parse PROGRAM HOME

frames: finds lines and lengths, and looks at nothing else. splice: moves the files of the only result to disk
within the kernel. parse: proctor's decoder and ledger, which understand everything and store nothing.
Leaves the number of results in HOME/count.
"""

import fcntl
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

CAPACITY = 1 << 20  # of the pipe
LOG = 400  # bytes of a short file, as channel.py has it


def frames(control: int, _: Path) -> int:
    count, rest = 0, b""
    while data := os.read(control, CAPACITY):
        data = rest + data
        at = 0
        while (end := data.find(b"\n", at)) >= 0:
            after = end + 1 + int(data[at + len("result ") : end])
            if data.find(b'"files"', end, after) > 0:  # of the one length that the benchmark sends
                after += LOG
            if after > len(data):
                break
            at = after
            count += 1
        rest = data[at:]
    return count


def splice(control: int, home: Path) -> int:
    with open(control, "rb", buffering=0) as channel, open(home / "files", "wb") as file:
        line = channel.readline()
        left = int(line[len("result ") :] or 0)
        while left and (part := channel.read(left)):
            left -= len(part)
        while os.splice(control, file.fileno(), CAPACITY):
            pass
    return 1 if line else 0


def parse(control: int, _: Path) -> int:
    from proctor.wire.control.decoder import ControlDecoder
    from proctor.wire.control.ledger import Finished, Ledger

    decoder = ControlDecoder(Ledger())
    count = 0
    while data := os.read(control, CAPACITY):
        count += sum(type(frame) is Finished for frame in decoder.feed(data))
    decoder.close()
    if decoder.error is not None:
        raise decoder.error
    return count


READERS: dict[str, Callable[[int, Path], int]] = {"frames": frames, "splice": splice, "parse": parse}


def main(reader: str, program: str, home: Path) -> None:
    read, write = os.pipe()
    fcntl.fcntl(read, fcntl.F_SETPIPE_SZ, CAPACITY)
    environ = {**os.environ, "ATEX_TEST_CONTROL": str(write)}
    process = subprocess.Popen([program], pass_fds=(write,), env=environ)
    os.close(write)
    count = READERS[reader](read, home)
    (home / "count").write_text(str(count))
    sys.exit(process.wait())


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
