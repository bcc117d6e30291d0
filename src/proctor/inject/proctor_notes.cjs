"use strict";
/* Notes that many processes of a session write and one reads, which passes them on to proctor.

   A note is there the moment it is written, whatever becomes of its writer: a process that is killed, or that never
   lets go of its only thread, has no other way to say what it was doing. */

const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");

const PATIENCE = 50; // milliseconds between two looks
const READ = 1 << 16; // bytes

class NoteWriter {
  constructor(place) {
    this.fd = fs.openSync(place, fs.constants.O_WRONLY | fs.constants.O_APPEND);
  }

  write(...note) {
    try {
      fs.writeSync(this.fd, JSON.stringify(note) + "\n"); // in one piece, or the notes of others would get in between
    } catch {
      // the reader has other ways to find out that something is missing
    }
  }
}

class NoteReader {
  constructor(take) {
    this.take = take;
    this.read = 0;
    this.rest = Buffer.alloc(0);
    [this.fd, this.place] = openNotes();
    setInterval(() => this.drain(), PATIENCE).unref();
  }

  drain() {
    const buffer = Buffer.alloc(READ);
    for (;;) {
      const size = fs.readSync(this.fd, buffer, 0, READ, this.read);
      if (!size) return;
      this.read += size;
      const data = Buffer.concat([this.rest, buffer.subarray(0, size)]);
      const end = data.lastIndexOf(10) + 1;
      this.rest = data.subarray(end);
      for (const line of data.subarray(0, end).toString().split("\n"))
        if (line) this.take(...JSON.parse(line));
    }
  }
}

/** A file and where others find it. Where the system allows, it has no name that could outlive us. */
function openNotes() {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), "proctor-"));
  const file = path.join(home, "notes");
  const fd = fs.openSync(file, "w+", 0o600);
  const remove = () => fs.rmSync(home, { recursive: true, force: true });
  const place = `/proc/${process.pid}/fd/${fd}`;
  if (!fs.existsSync(place)) {
    process.on("exit", remove);
    return [fd, file];
  }
  remove();
  return [fd, place];
}

module.exports = { NoteReader, NoteWriter };
