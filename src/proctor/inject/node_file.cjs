"use strict";
/* What happens in the process of one test file, noted the moment it does. See node_reporter.cjs. */

const path = require("node:path");

const shared = require("./proctor_session.cjs");
const { NoteWriter } = require("./proctor_notes.cjs");

/** A test or a group of them, from its announcement to its end. Tests made by a test are parts of it. */
class Node {
  constructor(data, parent, isSuite) {
    this.data = data;
    this.isSuite = isSuite;
    this.path = parent ? [...parent.path, data.name] : [data.name];
    this.whole = parent && !parent.isSuite ? parent.whole : this;
    this.parts = [];
  }
}

class FileReporter {
  constructor(notes, entry, left, keywords) {
    this.keywords = keywords; // that the full name of a test must match; null: any
    this.notes = notes;
    this.entry = entry;
    this.left = left; // so many tests may fail before it is enough; 0: as many as there are
    this.waiting = []; // announced and not begun
    this.running = [];
    this.seen = new Map();
    this.patterns = namePatterns();
  }

  listen(stream) {
    this.notes.write("heard", this.entry);
    stream.on("test:enqueue", (data) => this.hear("announced", data));
    stream.on("test:dequeue", (data) => this.hear("began", data));
    stream.on("test:complete", (data) => this.hear("ended", data));
  }

  /** A fault of ours is no fault of the test. */
  hear(what, data) {
    try {
      this[what](data);
    } catch (error) {
      this.notes.write("broke", this.entry, { name: error.name, message: error.message });
    }
  }

  announced(data) {
    const node = new Node(data, this.parentOf(data), isSuite(data));
    this.waiting.push(node);
    if (node.isSuite || node.whole !== node || !this.isChosen(node)) return;
    if (this.keywords && !this.keywords.test(node.path.join(" "))) {
      this.notes.write("left out", this.entry, this.newId(node));
      return;
    }
    node.id = this.newId(node);
    this.notes.write("found", this.entry, node.id, data.line ?? 0);
  }

  newId(node) {
    return shared.unique(this.seen, `${shared.relative(this.entry)}::${node.path.join(" > ")}`);
  }

  /** Newer ones do not even announce a test that was not asked for. */
  isChosen(node) {
    return (
      !this.patterns.length || this.patterns.some((pattern) => node.path.some((name) => pattern.test(name)))
    );
  }

  parentOf(data) {
    if (!data.nesting) return null;
    if (data.parentId !== undefined)
      return this.running.find((node) => node.data.testId === data.parentId) ?? null;
    const above = this.running.filter((node) => node.data.nesting === data.nesting - 1);
    const before = above.filter((node) => node.data.file === data.file && node.data.line <= data.line);
    return (before.length ? before : above).at(-1) ?? null; // of several at once, the one that it stands in
  }

  began(data) {
    const node = take(this.waiting, data);
    if (!node) return;
    this.running.push(node);
    if (node.id) this.notes.write("began", this.entry, node.id, data.file ?? this.entry, data.line ?? 0);
  }

  ended(data) {
    const node = take(this.running, data);
    if (!node || (!node.isSuite && !node.whole.id)) return;
    const phase = phaseOf(data);
    if (node.isSuite) this.suiteEnded(node, phase);
    else if (node.whole === node) this.report(node, [...node.parts, phase]);
    else if (phase.outcome !== "failed" || phase.failure)
      node.whole.parts.push({ ...phase, subtest: node.path.slice(node.whole.path.length).join(" > ") });
  }

  /** A group fails by itself if its body or one of its hooks does. */
  suiteEnded(node, phase) {
    if (phase.outcome !== "failed" || !phase.failure) return;
    node.id = this.newId(node);
    const { data } = node;
    this.notes.write("found", this.entry, node.id, data.line ?? 0);
    this.notes.write("began", this.entry, node.id, data.file ?? this.entry, data.line ?? 0);
    this.report(node, [{ ...phase, when: phase.when === "call" ? "setup" : phase.when }]);
  }

  report(node, phases) {
    this.notes.write("ended", this.entry, node.id, phases);
    if (!this.left || phases.every((phase) => phase.outcome !== "failed")) return;
    this.left -= 1;
    if (this.left === 0) {
      this.notes.write("enough", this.entry);
      process.exit(1);
    }
  }
}

/** Node 20 runs a test whose own name matches, or that of a group around it, and calls the others skipped. */
function namePatterns() {
  if (Number.parseInt(process.versions.node, 10) >= 22) return [];
  const option = "--test-name-pattern=";
  const given = process.execArgv
    .filter((argument) => argument.startsWith(option))
    .map((argument) => argument.slice(option.length));
  return given.map((text) => {
    const literal = /^\/(.*)\/([a-z]*)$/s.exec(text);
    return literal ? new RegExp(literal[1], literal[2]) : new RegExp(text);
  });
}

function isSuite(data) {
  if (data.type !== undefined) return data.type === "suite";
  const { stackTraceLimit, prepareStackTrace } = Error; // node 20 tells only by who announces it
  Error.stackTraceLimit = 30;
  Error.prepareStackTrace = undefined;
  const { stack } = new Error();
  Error.stackTraceLimit = stackTraceLimit;
  Error.prepareStackTrace = prepareStackTrace;
  return stack.includes("at Suite.start");
}

/** The first of the nodes that these data are about; it is no longer among them. */
function take(nodes, data) {
  const at = nodes.findIndex((node) => isSame(node.data, data));
  return at < 0 ? null : nodes.splice(at, 1)[0];
}

function isSame(one, other) {
  if (one.testId !== undefined) return one.testId === other.testId;
  return ["nesting", "name", "file", "line", "column"].every((key) => one[key] === other[key]);
}

function phaseOf(data) {
  const { error, duration_ms: milliseconds } = data.details;
  const phase = { when: "call", outcome: error ? "failed" : "passed", duration: (milliseconds ?? 0) / 1000 };
  if (error) Object.assign(phase, failed(error));
  if (data.skip !== undefined)
    return { ...phase, outcome: "skipped", reason: typeof data.skip === "string" ? data.skip : "" };
  if (data.todo !== undefined) return unfinished(phase, typeof data.todo === "string" ? data.todo : "");
  if (data.expectFailure !== undefined && !error) return { ...phase, outcome: "skipped", wasxfail: "" };
  return phase;
}

/** Work that is still to be done: it may fail, and node does not mind. */
function unfinished(phase, reason) {
  const why = reason ? `todo: ${reason}` : "todo";
  return phase.outcome === "failed"
    ? { ...phase, outcome: "skipped", wasxfail: why }
    : { ...phase, outcome: "skipped", reason: why };
}

function failed(error) {
  if (error.failureType === "subtestsFailed") return {}; // they have reports of their own
  const thrown = error.cause instanceof Error ? error.cause : error;
  const facts = shared.failure(thrown);
  if (typeof error.cause === "string") facts.message = error.cause;
  if (thrown.code === "ERR_ASSERTION" && ("expected" in thrown || "actual" in thrown)) {
    facts.expected = shared.shown(thrown.expected);
    facts.actual = shared.shown(thrown.actual);
  }
  const hook = error.failureType === "hookFailed" ? /\b(before|after)/.exec(error.message) : null;
  const when = hook ? (hook[1] === "before" ? "setup" : "teardown") : "call";
  return { when, failure: facts, longrepr: shared.trace(thrown.stack ?? facts.message) };
}

/** Groups are entered, so that their tests are found; tests and hooks are not. */
function runNothing() {
  const { AsyncResource } = require("node:async_hooks");
  const run = AsyncResource.prototype.runInAsyncScope;
  AsyncResource.prototype.runInAsyncScope = function (...given) {
    if (!["Test", "TestHook"].includes(this.constructor.name)) return run.apply(this, given);
    const [, , , done] = given; // of a test that takes a callback
    return typeof done === "function" ? done() : undefined;
  };
}

/** Run only tests whose full names match, and no hook that is for another one. A pattern on node's command line
    cannot do that: node 20 compares it with each name alone, and runs a group whole that matches. */
function runMatching(keywords) {
  const { createHook } = require("node:async_hooks");
  const hook = createHook({
    init(_id, type, _trigger, resource) {
      const prototype = type === "Test" ? prototypeOfTests(resource) : null;
      if (!prototype) return;
      hook.disable();
      const { run } = prototype;
      prototype.run = function (...given) {
        const names = namesOf(this);
        if (names.length && !keywords.test(names.join(" "))) {
          this.skip("not selected");
          this.fn = () => {};
        }
        return run.apply(this, given);
      };
    },
  });
  hook.enable();
}

function prototypeOfTests(test) {
  let found = Object.getPrototypeOf(test);
  while (found && found.constructor.name !== "Test") found = Object.getPrototypeOf(found);
  return found;
}

/** Of a test and the groups around it, from the outermost on; none for a group, a hook or a part of a test. */
function namesOf(test) {
  const names = [];
  if (test.constructor.name !== "Test") return names;
  for (let each = test; each.parent; each = each.parent) {
    if (each !== test && each.constructor.name !== "Suite") return [];
    names.unshift(each.name);
  }
  return names;
}

/** Tests were made and have not come to their end, for which node waits. Node 20 begins late: it may not even
    have announced them. */
function isWaiting() {
  const isUsed = process.moduleLoadList.some((name) => name.endsWith("internal/test_runner/harness"));
  return isUsed && process.listeners("beforeExit").some((listener) => listener.name === "exitHandler");
}

/** Begin to note. Returns what listens to the stream of events, once there is one. */
function report(place, listing, left, names) {
  const entry = path.resolve(process.argv[1] ?? "");
  const notes = new NoteWriter(place);
  const keywords = names ? new RegExp(names) : null;
  if (listing) runNothing();
  else if (keywords) runMatching(keywords);
  process.on("uncaughtExceptionMonitor", (error) => {
    notes.write("threw", entry, shared.failure(error), shared.plain(error?.stack ?? error));
  });
  process.on("exit", () => isWaiting() && notes.write("cut short", entry));
  const reporter = new FileReporter(notes, entry, left, keywords);
  return (stream) => reporter.listen(stream);
}

module.exports = { report };
