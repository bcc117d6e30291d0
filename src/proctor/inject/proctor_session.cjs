"use strict";
/* Report a session of tests on proctor's control channel. What the reporters for JavaScript share.

   Runs in other people's processes: Node 20 or newer and nothing else. It must never change what a test does,
   prints or exits with: a channel that breaks makes it fall silent.

   The session is one result without a name, open (a partial `error`) until the session ends. Each test is a
   result of its own: a partial `error` when it starts, closed with the facts of its phases when it ends. */

const fs = require("node:fs");
const path = require("node:path");
const util = require("node:util");
const { fileURLToPath } = require("node:url");

const ROOT = process.cwd(); // tests may go elsewhere
const VARIABLES = ["PROCTOR_CONTROL_FD", "PROCTOR_CONTROL", "ATEX_TEST_CONTROL"];
const IDS = "PROCTOR_IDS"; // files, each with the names of which one must be in it
const WRAPPED = "PROCTOR_WRAPPED"; // another program is around this one
const LONG_TEXT = 64 * 1024; // a longer text travels as a file
const TAIL = 2000; // characters of such a text that travel with the facts as well
const MOST_CALLS = 20; // places on the way to a failure that are reported
const MOST_CAUSES = 10; // errors behind an error
const MOST_LINES = 40; // of a difference
const [BEFORE, AFTER] = [3, 2]; // lines of source around a failure
const [LONG_SOURCE, LONG_LINE] = [1 << 20, 300]; // characters of a file that is read, and of a line of it
const MOST_CHANGED = 4; // of them in the message
const SHORT = 200; // characters of a message in one line
const SHOWN = { depth: 6, maxArrayLength: 100, maxStringLength: 10000, breakLength: 100, sorted: true };

// A line of a difference, but not the one that explains it.
const CHANGED = /^[-+] (?!actual - expected|Expected +-|Received +\+)/;
const USUAL = ["", "Error", "AssertionError"];

const LONE_SURROGATE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;
// A line of a stack, or the head of a SyntaxError.
const FRAME = /^(?:\s*at (?:.*?\()?)?((?:file:\/\/)?\/[^()]*?):(\d+)(?::\d+)?\)?$/;
const TEST_FILE = /(?:^|\/)(?:tests?|__tests__|specs?)\/|[.-](?:test|spec)\.[cm]?[jt]sx?$/;

/** A lone surrogate has no UTF-8, so it is written as literal text. */
function clean(text) {
  return text.replace(LONE_SURROGATE, (unit) => "\\u" + unit.charCodeAt(0).toString(16));
}

function encoded(body) {
  return JSON.stringify(body, (_, value) => (typeof value === "string" ? clean(value) : value));
}

/** The words of what may be no text at all. */
function plain(text) {
  try {
    return util.stripVTControlCharacters(String(text));
  } catch {
    return "";
  }
}

function relative(file) {
  return path.relative(ROOT, file) || file;
}

/** The writing end of the channel. One process of a session writes: a pipe mixes long messages of several. */
class Channel {
  constructor(fd) {
    this.fd = fd;
  }

  /** The channel of this process, if it has one; from here on no program that a test starts finds it. */
  static take() {
    const [number, place] = VARIABLES.map((name) => process.env[name]);
    for (const name of VARIABLES) delete process.env[name];
    const fd = heldOr(Number.parseInt(number ?? "", 10), place);
    return fd === null ? null : new Channel(fd);
  }

  send(body, files = []) {
    if (files.length) body.files = files.map(([name, data]) => ({ name, length: data.length }));
    const json = Buffer.from(encoded(body));
    this.write(
      Buffer.concat([Buffer.from(`result ${json.length}\n`), json, ...files.map(([, data]) => data)]),
    );
  }

  write(data) {
    try {
      while (data.length && this.fd >= 0) data = data.subarray(this.writeSome(data));
    } catch {
      this.fd = -1;
    }
  }

  writeSome(data) {
    try {
      return fs.writeSync(this.fd, data);
    } catch (error) {
      if (error.code !== "EAGAIN") throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5); // somebody made the pipe non-blocking
      return 0;
    }
  }
}

/** The descriptor, if it is still what the place says. Programs in between, such as c8, hand on the standard
    ones alone, and another pipe may then have the number: so it is opened again. */
function heldOr(fd, place) {
  const there = attempt(() => fs.statSync(place));
  const held = attempt(() => fs.fstatSync(fd));
  if (held?.isFIFO() && (!there || (there.ino === held.ino && there.dev === held.dev))) return fd;
  return there?.isFIFO() ? attempt(() => fs.openSync(place, "w")) : null;
}

function attempt(action) {
  try {
    return action();
  } catch {
    return null;
  }
}

/** The second `x` is `x#2`; `seen` counts how often there was each. */
function unique(seen, id) {
  const times = (seen.get(id) ?? 0) + 1;
  seen.set(id, times);
  return times === 1 ? id : unique(seen, `${id}#${times}`);
}

/** What a reporter reports: the facts of the session, and each test. */
class Session {
  constructor(channel, toolchain) {
    this.channel = channel;
    this.ended = false; // the tool came to its end; its exit status is still to come
    this.started = Date.now();
    this.seen = new Map();
    this.open = new Map(); // id -> the file that runs, and the place of the test
    this.count = 0; // of tests that have ended
    this.selected = new Set();
    this.broken = new Set(); // files of which not all tests may be known
    this.wanted = wanted();
    this.wrapped = Boolean(process.env[WRAPPED]);
    delete process.env[WRAPPED];
    this.report({ toolchain: { node: process.versions.node, ...toolchain } });
    this.report({ suite: { root: ROOT, cwd: ROOT } });
  }

  report(facts, status = "error", partial = true) {
    this.channel.send({ status, partial, proctor: facts });
  }

  unique(id) {
    return unique(this.seen, id);
  }

  /** A test that will run, if all goes well. */
  select(ids, places = {}) {
    if (!ids.length) return;
    for (const id of ids) this.selected.add(id);
    const children = ids
      .filter((id) => places[id])
      .map((id) => ({ id, type: "test", line: places[id] - 1, tested: true }));
    this.report({ selected: ids, collectors: children.length ? [{ id: "", outcome: "passed", children }] : [] });
  }

  /** `file` is the one that runs; a test may be `written` in another. */
  begin(id, file, line, written = file) {
    if (this.open.has(id)) return;
    const place = { file: relative(written), line: line || 0 };
    this.open.set(id, { file, place });
    this.channel.send({ name: id, status: "error", partial: true, ...place });
  }

  end(id, phases) {
    this.open.delete(id);
    this.count += 1;
    const failed = phases.some((phase) => phase.outcome === "failed");
    const files = [];
    const carried = phases.map((phase) => shortened(phase, files));
    this.channel.send({ name: id, status: failed ? "fail" : "pass", proctor: { phases: carried } }, files);
  }

  /** The process of a file is gone: what was running in it has crashed. Returns whether anything was. */
  lost(file, cause) {
    const lost = [...this.open].filter(([, test]) => test.file === file);
    if (lost.length) this.broken.add(relative(file));
    for (const [id, { place }] of lost) {
      const failure = { message: cause, place };
      this.end(id, [{ when: "???", outcome: "failed", longrepr: cause, failure }]);
    }
    return lost.length > 0;
  }

  /** As many tests have failed as were allowed to: what is still running has no result, nor needs one. */
  enough(limit) {
    const message = `stopped after ${limit} ${Number(limit) === 1 ? "failure" : "failures"}`;
    this.report({ interrupted: { type: "maxfail", message } });
    this.open.clear();
    this.wanted = []; // nobody knows what would have come
  }

  /** A fault of ours costs the report, never the run; proctor then says that the run is incomplete. */
  broke(error) {
    this.report({ broken: `${error?.name}: ${error?.message}` });
    this.channel.fd = -1;
  }

  fileFailed(file, failure, longrepr) {
    this.broken.add(relative(file));
    this.report({ collection_errors: [{ id: relative(file), failure, longrepr: trace(longrepr) }] });
  }

  /** Ids that were asked for and are nowhere. */
  absent() {
    return this.wanted.filter(({ files, names }) => {
      if (files.some((file) => this.broken.has(file))) return false;
      const ids = files.flatMap((file) => names.map((name) => `${file}::${name}`));
      return ![...this.selected].some((id) => ids.some((each) => id === each || id.startsWith(`${each} > `)));
    });
  }

  finish(exitStatus) {
    const now = Date.now();
    this.report({ collection_ended: now / 1000 });
    const missing = this.absent().map(({ files, names }) => `${files[0]}::${names.at(-1)}`);
    if (missing.length)
      this.report({ interrupted: { type: "UsageError", message: `not found: ${missing.join(", ")}` } });
    const finished = {
      // A program around this one may still find fault.
      exit_status: this.wrapped && exitStatus === 0 ? null : exitStatus,
      collected: this.count,
      duration: (now - this.started) / 1000,
      created: now / 1000,
    };
    this.report({ finished }, exitStatus === 0 ? "pass" : "fail", false);
  }
}

/** A phase with its long texts moved to files, which get their names from it. */
function shortened(phase, files) {
  const facts = { ...phase };
  for (const field of ["longrepr", "stdout", "stderr"]) {
    const text = facts[field];
    if (typeof text !== "string" || text.length <= LONG_TEXT) continue;
    const name = `${files.length + 1}-${phase.when.replace(/\W/g, "") || "crash"}-${field}.txt`;
    files.push([name, Buffer.from(clean(text))]);
    delete facts[field];
    facts.files = { ...facts.files, [field]: name };
    facts.tails = { ...facts.tails, [field]: text.slice(-TAIL) };
  }
  return facts;
}

function cut(text) {
  if (text.length <= LONG_TEXT) return text;
  const half = LONG_TEXT / 2;
  return `${text.slice(0, half)}\n[... ${text.length - 2 * half} characters left out ...]\n${text.slice(-half)}`;
}

/** Lines of user code on the way to an error, innermost first. */
function places(stack) {
  const found = [];
  for (const line of plain(stack ?? "").split("\n")) {
    const frame = FRAME.exec(line);
    if (!frame) continue;
    const file = frame[1].startsWith("file:") ? fileURLToPath(frame[1]) : frame[1];
    if (file.includes("/node_modules/") || file.startsWith(__dirname + path.sep)) continue;
    found.push({ file: relative(file), line: Number(frame[2]) });
  }
  return found;
}

/** A stack without the frames of tools and of node itself, unless there are no others. */
function trace(stack) {
  const lines = plain(stack ?? "").split("\n");
  const kept = lines.filter(
    (line) => !/^\s*at /.test(line) || (FRAME.test(line) && !line.includes("/node_modules/")),
  );
  return (kept.some((line) => FRAME.test(line)) ? kept : lines).join("\n");
}

/** The lines around a place, in the margin of which `>` marks its own. */
function around({ file, line }) {
  const whole = path.resolve(ROOT, file);
  const size = attempt(() => (fs.statSync(whole).isFile() ? fs.statSync(whole).size : Infinity)) ?? Infinity;
  if (size > LONG_SOURCE) return [];
  const lines = (attempt(() => fs.readFileSync(whole, "utf8")) ?? "").split(/\r?\n/);
  if (!(lines[line - 1] ?? "").trim()) return []; // it is not the file that ran
  const first = Math.max(1, line - BEFORE);
  return lines
    .slice(first - 1, line + AFTER)
    .map((text, at) => `${first + at === line ? ">   " : "    "}${plain(text).slice(0, LONG_LINE)}`.trimEnd());
}

/** What an error says and where it comes from; whatever is thrown is an error here. */
function failure(error) {
  try {
    return facts(error, 0);
  } catch {
    return { message: "something was thrown that cannot be shown" };
  }
}

function facts(error, depth) {
  if (error === null || typeof error !== "object") return { type: typeof error, message: shown(error) };
  const way = places(error.stack);
  const type = plain(error.name ?? "Error");
  const found = { type, message: worded(type, withValues(error, plain(error.message ?? ""))) };
  // A test often throws far from the fault.
  const place = way.find((at) => !TEST_FILE.test(at.file)) ?? way[0];
  if (place) found.place = place;
  const source = place && depth === 0 ? around(place) : [];
  if (source.length) found.source = source;
  const calls = way.slice(0, MOST_CALLS).reverse();
  if (way.length > 1) found.calls = calls.map((at) => ({ places: [at] }));
  const causes = Array.isArray(error.errors) ? error.errors : error.cause ? [error.cause] : [];
  if (depth < MOST_CAUSES && causes.length)
    found.causes = causes.slice(0, MOST_CAUSES).map((cause) => facts(cause, depth + 1));
  return found;
}

/** Messages of tools that go on below their first line, where the values are: in one line, if that is short. */
function withValues(error, message) {
  const [head, ...rest] = message.split("\n").map((line) => line.trim());
  const said = rest.filter(Boolean);
  if (!said.length) return message;
  const start = head.endsWith(":") ? head : `${head}:`;
  const changed = said.filter((line) => CHANGED.test(line)).slice(0, MOST_CHANGED);
  if (/^expect(?:\(|\.)/.test(head))
    return joined(start, said.filter(isLabelled), "; ") ?? joined(start, changed, " ") ?? message;
  if (error.code !== "ERR_ASSERTION") return message;
  if (said.some((line) => line.startsWith("+ actual - expected"))) {
    const compared = `${oneLine(error.actual)} !== ${oneLine(error.expected)}`;
    return joined(start, [compared], " ") ?? joined(start, changed, " ") ?? message;
  }
  if (error.generatedMessage || /^Got unwanted /.test(head)) return joined(head, said, " ") ?? message;
  return said.some((line) => line.includes(" !== ")) ? (joined(start, said, " ") ?? message) : message;
}

function joined(head, parts, between) {
  const text = `${head} ${parts.join(between)}`;
  return parts.length && text.length <= SHORT ? text : null;
}

function isLabelled(line) {
  return /^(?:Expected|Received)\b/.test(line);
}

function oneLine(value) {
  return util.inspect(value, { ...SHOWN, breakLength: Infinity, compact: true });
}

/** In its own words; of the usual types, a name says nothing. */
function worded(type, message) {
  return cut(USUAL.includes(type) && message ? message : message ? `${type}: ${message}` : type);
}

/** As text, a string as it is. */
function shown(value) {
  if (typeof value === "string") return cut(plain(value));
  try {
    return cut(util.inspect(value, SHOWN));
  } catch {
    return "a value that cannot be shown";
  }
}

/** The lines of a difference that say something. */
function difference(text) {
  return plain(text ?? "")
    .split("\n")
    .filter((line) => /^[-+]/.test(line))
    .slice(0, MOST_LINES);
}

/** The session of a tool that has its reporter in its own process; null where nobody listens. */
function open(toolchain) {
  const channel = Channel.take();
  if (!channel) return null;
  const session = new Session(channel, toolchain);
  // Before all others, of which some cut the exit short with another.
  process.prependListener("exit", (code) => session.ended && session.finish(code));
  return session;
}

/** A reporter whose hooks never throw: a tool would take that for a failure of its tests. */
function guarded(Reporter) {
  for (const name of Object.getOwnPropertyNames(Reporter.prototype).filter((each) => each.startsWith("on"))) {
    const hook = Reporter.prototype[name];
    Reporter.prototype[name] = function (...given) {
      try {
        if (name === "onInit" || this.session) hook.apply(this, given);
      } catch (error) {
        this.session?.broke(error);
      }
    };
  }
  return Reporter;
}

/** The tests that must be there. Some tools name a file by what a link to it leads to. */
function wanted() {
  const given = process.env[IDS];
  delete process.env[IDS];
  return (given ? JSON.parse(given) : []).map(([file, names]) => {
    const real = attempt(() => fs.realpathSync(file)) ?? file;
    return { files: [path.resolve(file), real].map(relative), names };
  });
}

/** What the planner asks for: only a list of tests, and of which names. */
function requested() {
  const { PROCTOR_LISTING: listing, PROCTOR_NAMES: names } = process.env;
  delete process.env.PROCTOR_LISTING;
  delete process.env.PROCTOR_NAMES;
  return { listing: Boolean(listing), names: new RegExp(names ?? "") };
}

const errors = { difference, failure, places, plain, shown, trace };
module.exports = { Channel, Session, ...errors, guarded, open, relative, requested, unique };
