"use strict";
/* Report `node --test` to proctor. Loaded with --require, in node's own process and in that of each file.

   The events of a test stream are emitted at once, but they reach a reporter later and the parent process
   later still; a process that exits or aborts takes the rest of them along. So each file's process notes what
   happens the moment it does, in a file that all of them share, and the parent passes it on to proctor. */

const fs = require("node:fs");
const path = require("node:path");
const { EventEmitter } = require("node:events");
const { Readable } = require("node:stream");

const shared = require("./proctor_session.cjs");
const { NoteReader } = require("./proctor_notes.cjs");

const NOTES = "PROCTOR_NODE_NOTES"; // where the processes of files write
const LISTING = "PROCTOR_LISTING"; // look for tests, run none
const NAMES = "PROCTOR_NAMES"; // a pattern that the full names of tests must match
const LEFT = "PROCTOR_NODE_LEFT"; // so many tests may fail before it is enough
const OLDEST = 20;
const STOPPED = /^((?:file:\/\/)?\/[^\n]*:\d+)$/m; // above the line in which a parser stopped

/** Hand over the stream of test events, the first time that it says something: nothing else leads to it.
    There may be another, for tests that were not asked for, which nobody reads. */
function onTestStream(listen) {
  Readable.prototype.emit = function (...said) {
    if (this.constructor.name === "TestsStream" && this.listenerCount("data")) {
      delete Readable.prototype.emit;
      listen(this);
    }
    return EventEmitter.prototype.emit.apply(this, said);
  };
}

class RunReporter {
  constructor(session, chosen) {
    this.session = session;
    this.chosen = chosen; // by name: a file without such tests says nothing
    this.listing = Boolean(process.env[LISTING]);
    this.limit = this.left = Number(process.env[LEFT] ?? 0);
    this.files = new Map();
    this.passedOn = 0; // tests that came the usual way
    this.notes = new NoteReader((...note) => this.note(...note));
    process.env[NOTES] = this.notes.place;
  }

  listen(stream) {
    this.listening = true;
    for (const type of ["test:pass", "test:fail"])
      stream.on(type, (data) => (this.passedOn += isFile(data) ? 0 : 1));
    stream.on("test:stderr", (data) => this.printed(data));
    stream.on("test:complete", (data) => {
      try {
        if (isFile(data)) this.fileEnded(data.file, data.details);
      } catch (error) {
        this.session.broke(error);
      }
    });
    process.prependListener("exit", (code) => this.finish(code));
  }

  /** Where a parser stopped, node prints above its words; the error itself need not know. */
  printed({ file, message }) {
    const at = STOPPED.exec(message);
    if (at && file) this.about(file).stopped = at[1];
  }

  /** What is known of a file. */
  about(file) {
    if (!this.files.has(file))
      this.files.set(file, {
        heard: false,
        found: 0,
        failed: false,
        threw: null,
        enough: false,
        cut: false,
        stopped: "",
      });
    return this.files.get(file);
  }

  note(word, file, ...rest) {
    const about = this.about(file);
    if (word === "heard") about.heard = true;
    else if (word === "found") this.found(about, ...rest);
    else if (word === "left out") this.session.report({ deselected: rest });
    else if (word === "threw") about.threw = rest;
    else if (word === "enough") about.enough = true;
    else if (word === "cut short") about.cut = true;
    else if (word === "broke") this.session.broke(rest[0]);
    else if (this.listing) return;
    else if (word === "began") this.session.begin(rest[0], file, rest[2], rest[1]);
    else if (word === "ended") this.ended(about, ...rest);
  }

  found(about, id, line) {
    about.found += 1;
    this.session.select([id], { [id]: line });
  }

  ended(about, id, phases) {
    this.session.end(id, phases);
    if (phases.every((phase) => phase.outcome !== "failed")) return;
    about.failed = true;
    if (this.left) process.env[LEFT] = String((this.left -= 1)); // for the next file
  }

  fileEnded(file, details) {
    this.notes.drain();
    const about = this.about(file);
    const error = details.error;
    if (error && error.exitCode === undefined && error.signal === undefined) return; // not its end, but ours
    const cause = error?.signal ?? `the process exited with ${error?.exitCode ?? 0}`;
    if (about.enough) {
      this.session.enough(this.limit);
      process.exit(1);
    }
    if (this.session.lost(file, error?.signal ? cause : `${cause} during the test`)) about.failed = true;
    const isCut = about.cut && !about.found;
    if (error ? !about.failed : isCut) {
      const message = isCut ? `${cause} before its tests ran` : cause;
      const [failure, longrepr] = about.threw ?? [{ message }, message];
      if (!failure.place && about.stopped) [failure.place] = shared.places(about.stopped);
      if (!isCut && !about.found && !this.listing && isScript(file, failure)) this.script(file, details, { failure, longrepr });
      else this.session.fileFailed(file, failure, longrepr);
    } else if (!about.found && !this.chosen) this.script(file, details);
  }

  /** A file without tests is a test itself, which its exit status decides. */
  script(file, details, failed = null) {
    const id = shared.relative(file);
    this.session.select([id]);
    if (this.listing) return;
    this.session.begin(id, file, 1);
    const phase = { when: "call", outcome: "passed", duration: (details.duration_ms ?? 0) / 1000 };
    if (failed) Object.assign(phase, failed, { outcome: "failed", longrepr: shared.trace(failed.longrepr) });
    this.session.end(id, [phase]);
  }

  finish(code) {
    this.notes.drain();
    if (this.passedOn && ![...this.files.values()].some((about) => about.heard)) {
      this.session.report({
        broken: `node ${process.versions.node} does not let its tests be heard in their processes`,
      });
    }
    this.session.finish(code);
  }
}

/** What cannot even be parsed, or has tests that never came to be known, is no such test. */
function isScript(file, failure) {
  if (failure.type === "SyntaxError") return false;
  try {
    return !/["']node:test["']/.test(fs.readFileSync(file, "utf8"));
  } catch {
    return false;
  }
}

function isFile(data) {
  return data.nesting === 0 && data.line === 1 && data.column === 1 && path.resolve(data.name) === data.file;
}

function reportRun() {
  const channel = shared.Channel.take();
  if (!channel) return;
  const session = new shared.Session(channel, {});
  if (Number.parseInt(process.versions.node, 10) < OLDEST) {
    session.report({ broken: `node ${process.versions.node} is too old: proctor needs ${OLDEST} or newer` });
    return;
  }
  const isPattern = (argument) => argument.startsWith("--test-name-pattern");
  const chosen = Boolean(process.env[NAMES]) || process.execArgv.some(isPattern);
  const reporter = new RunReporter(session, chosen);
  // Node may find no file to run, and say so.
  process.prependListener("exit", (code) => reporter.listening || reporter.finish(code));
  onTestStream((stream) => reporter.listen(stream));
}

function reportFile() {
  const { [NOTES]: place, [LISTING]: listing, [LEFT]: left, [NAMES]: names } = process.env;
  for (const name of [NOTES, LISTING, LEFT, NAMES]) delete process.env[name]; // for nobody else
  onTestStream(require("./node_file.cjs").report(place, listing, Number(left ?? 0), names));
}

if (process.env[NOTES]) reportFile();
else if (process.execArgv.includes("--test")) reportRun();
