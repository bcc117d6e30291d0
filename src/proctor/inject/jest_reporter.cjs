"use strict";
/* Report a jest run to proctor. Jest loads it in its own process, which hears of the tests of all workers. */

const fs = require("node:fs");

const shared = require("./proctor_session.cjs");

const RAISED = /^(?:([A-Za-z_$][\w$.]*): )?([^]*)$/; // a type, and what it says
const IN_SOURCE = /\((\d+):\d+\)/; // where a parser stopped

class JestReporter {
  constructor({ bail, coverageThreshold }) {
    this.limit = bail;
    this.requested = shared.requested();
    this.session = shared.open({ jest: version() });
    this.session.wrapped ||= Boolean(coverageThreshold); // jest looks at that when its process exits
    this.ids = new Map(); // file and name of tests that are running -> their ids, the first first
    this.held = new Map(); // the same of a failed test that may yet be tried again -> its result
    this.retrying = new Set(); // files with such tests
    this.ended = new Map(); // the same of one that has ended -> how often
  }

  onTestFileStart(test) {
    if (mayRetry(test)) this.retrying.add(test.path);
  }

  onTestCaseStart(test, info) {
    if (!this.requested.listing && !this.held.has(keyOf(test.path, info))) this.begin(test.path, info, 0);
  }

  begin(file, info, line) {
    const key = keyOf(file, info);
    const id = this.select(file, info, line);
    this.ids.set(key, [...(this.ids.get(key) ?? []), id]);
    this.session.begin(id, file, line);
  }

  select(file, info, line) {
    const name = [...info.ancestorTitles, info.title].join(" > ");
    const id = this.session.unique(`${shared.relative(file)}::${name}`);
    this.session.select([id], line ? { [id]: line } : {});
    return id;
  }

  onTestCaseResult(test, result) {
    if (this.requested.listing) return;
    const key = keyOf(test.path, result);
    this.held.delete(key);
    if (result.status === "failed" && this.retrying.has(test.path))
      this.held.set(key, { file: test.path, result });
    else this.endOnce(test.path, result);
  }

  endOnce(file, result) {
    const key = keyOf(file, result);
    this.ended.set(key, (this.ended.get(key) ?? 0) + 1);
    this.end(file, result);
  }

  end(file, result) {
    const key = keyOf(file, result);
    if (!this.ids.get(key)?.length) this.begin(file, result, result.location?.line);
    this.session.end(this.ids.get(key).shift(), [phaseOf(result)]);
  }

  onTestFileResult(test, result) {
    for (const [key, held] of this.held) {
      if (held.file !== test.path) continue;
      this.held.delete(key);
      this.endOnce(held.file, held.result);
    }
    for (const one of result.testResults) this.heardLate(test.path, one);
    if (result.testExecError) this.fileFailed(test.path, result);
  }

  /** Jest says of a test that it does not run, or that is not chosen, only when its file has ended. */
  heardLate(file, result) {
    if (!this.requested.names.test(result.fullName)) return;
    if (this.requested.listing) {
      this.select(file, result, result.location?.line);
      return;
    }
    const key = keyOf(file, result);
    const times = this.ended.get(key) ?? 0;
    if (result.status !== "pending" && times) this.ended.set(key, times - 1);
    else this.end(file, result);
  }

  fileFailed(file, result) {
    const error = result.testExecError;
    const text = shared.plain(result.failureMessage || error.stack || error.message);
    const said = shared.plain(error.message || "").trim() || firstLine(text);
    if (this.session.lost(file, said)) return;
    this.session.fileFailed(file, explained(file, error, said, text), text);
  }

  onRunComplete() {
    if (this.limit && this.session.open.size) this.session.enough(this.limit);
    this.session.ended = true;
  }
}

function version() {
  try {
    return require(require.resolve("jest/package.json", { paths: [process.cwd(), process.argv[1]] })).version;
  } catch {
    return "unknown";
  }
}

/** A failure is not the last word where jest.retryTimes is called; only the sources say so beforehand. */
function mayRetry(test) {
  const sources = [test.path, ...(test.context?.config?.setupFilesAfterEnv ?? [])];
  return sources.some((file) => fs.readFileSync(file, "utf8").includes("retryTimes"));
}

function keyOf(file, { ancestorTitles, title }) {
  return JSON.stringify([file, ...ancestorTitles, title]);
}

function phaseOf(result) {
  const phase = { when: "call", outcome: "passed", duration: (result.duration ?? 0) / 1000 };
  if (result.status === "failed") {
    const text = result.failureMessages.map(shared.trace).join("\n");
    return { ...phase, outcome: "failed", failure: failureOf(result), longrepr: text };
  }
  if (result.status === "passed")
    return result.failing ? { ...phase, outcome: "skipped", wasxfail: "" } : phase;
  return { ...phase, outcome: "skipped", reason: result.status === "todo" ? "todo" : "" };
}

/** The first of a test's errors. What workers send has lost its class and its stack; the text has both. */
function failureOf(result) {
  const stack = shared.plain(result.failureMessages[0] ?? "");
  const [, name = "", message] = RAISED.exec(stack.split(/\n +at /)[0].trim());
  const facts = shared.failure({ name: name || "Error", message, stack });
  const compared = result.failureDetails?.[0]?.matcherResult;
  if (compared && "expected" in compared) facts.expected = shared.shown(compared.expected);
  if (compared && "actual" in compared) facts.actual = shared.shown(compared.actual);
  return facts;
}

/** Below the mark and the title that jest gives to such a text. */
function firstLine(text) {
  const lines = text.split("\n").map((line) => line.trim());
  return lines.find((line) => line && !line.startsWith("●")) ?? "it gives no reason";
}

/** Why a file has no tests. A parser's own words are behind those of jest, which are always the same. */
function explained(file, error, said, text) {
  const parsed = /^ *(\w*Error: .*)$/m.exec(text);
  const facts = shared.failure({ name: error.name, message: said, stack: error.stack });
  if (parsed && /encountered an unexpected token|failed to parse/.test(text)) facts.message = parsed[1];
  const line = error.loc?.line ?? (parsed && IN_SOURCE.exec(parsed[1])?.[1]);
  if (line) facts.place = { file: shared.relative(file), line: Number(line) };
  return facts;
}

module.exports = shared.guarded(JestReporter);
