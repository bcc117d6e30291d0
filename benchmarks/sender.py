"""Write a file to the control channel as fast as the pipe takes it, and leave word of the CPU that took.

python -I -S sender.py STREAM USAGE
"""

import os
import resource
import sys

stream = os.open(sys.argv[1], os.O_RDONLY)
control = int(os.environ["ATEX_TEST_CONTROL"])
buffer = bytearray(1 << 16)
while count := os.readv(stream, [buffer]):
    piece = memoryview(buffer)[:count]
    while piece:
        piece = piece[os.write(control, piece) :]
usage = resource.getrusage(resource.RUSAGE_SELF)
with open(sys.argv[2], "w") as file:
    file.write(str(usage.ru_utime + usage.ru_stime))
os._exit(0)  # what an interpreter does on its way out would be counted as the reader's
