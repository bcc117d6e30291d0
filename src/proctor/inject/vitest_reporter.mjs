/* Report a vitest run to proctor. Vitest loads it in its own process. Workers report their tests a little
   late, and one that dies takes the last of it along: so each worker takes notes, too (vitest_worker.mjs). */

import { fileURLToPath } from "node:url";
import notes from "./proctor_notes.cjs";
import shared from "./proctor_session.cjs";

const STOPPED = /^At file: .*:(\d+):\d+$/m;
const NOTES = "PROCTOR_VITEST_NOTES";
const PATIENCE = 1000; // milliseconds for vitest's own word on a test that is noted to have ended
const WORKER = fileURLToPath(new URL("vitest_worker.mjs", import.meta.url));

class VitestReporter {
  onInit(vitest) {
    this.requested = shared.requested();
    this.session = shared.open({ vitest: vitest.version });
    this.tests = new Map(); // by vitest's own ids: { id, file, line, ended }
    this.printed = new Map();
    this.limit = vitest.config.bail;
    if (!this.session || this.requested.listing) return;
    this.notes = new notes.NoteReader((...note) => this.noted(...note));
    process.env[NOTES] = this.notes.place;
    process.prependListener("exit", () => this.session.ended || this.readNotes());
    for (const project of vitest.projects) project.config.setupFiles.unshift(WORKER);
  }

  onTestModuleCollected(module) {
    const ids = [];
    const lines = {};
    for (const test of module.children.allTests()) {
      if (!this.requested.names.test(test.fullName)) continue;
      const id = this.session.unique(`${shared.relative(module.moduleId)}::${test.fullName}`);
      const line = test.location?.line ?? 0;
      this.tests.set(test.id, { id, file: module.moduleId, line, ended: null });
      ids.push(id);
      if (line) lines[id] = line;
    }
    this.session.select(ids, lines);
  }

  noted(word, task, ...rest) {
    const test = this.tests.get(task);
    if (!test) return;
    if (word === "began") this.begin(test);
    else {
      test.ended = rest;
      setTimeout(() => this.endByNote(test), PATIENCE).unref();
    }
  }

  readNotes() {
    this.notes.drain();
    for (const test of this.tests.values()) this.endByNote(test);
  }

  endByNote(test) {
    if (!test.reported && test.ended) this.end(test, noted(...test.ended));
  }

  begin(test) {
    if (!test.reported) this.session.begin(test.id, test.file, test.line);
  }

  onTestCaseReady(test) {
    const known = this.tests.get(test.id);
    if (known && !this.requested.listing) this.begin(known);
  }

  onUserConsoleLog({ type, taskId, content }) {
    if (!taskId) return;
    const printed = this.printed.get(taskId) ?? { stdout: "", stderr: "" };
    printed[type] += content;
    this.printed.set(taskId, printed);
  }

  onTestCaseResult(test) {
    const known = this.tests.get(test.id);
    if (!known || known.reported || this.requested.listing) return;
    this.end(known, { ...phaseOf(test), ...this.printed.get(test.id) });
    this.printed.delete(test.id);
  }

  end(test, phase) {
    this.begin(test);
    test.reported = true;
    this.session.end(test.id, [phase]);
  }

  onTestModuleEnd(module) {
    for (const error of module.errors()) {
      const facts = explained(module.moduleId, error);
      this.session.fileFailed(module.moduleId, facts, error.stack ?? error.message);
    }
    for (const suite of module.children.allSuites()) {
      for (const error of suite.errors()) this.suiteFailed(module, suite, error);
    }
  }

  /** A hook of the group, as a rule. */
  suiteFailed(module, suite, error) {
    const id = this.session.unique(`${shared.relative(module.moduleId)}::${suite.fullName}`);
    this.session.select([id]);
    const test = { id, file: module.moduleId, line: suite.location?.line };
    this.end(test, { ...failed(error), when: "setup", duration: 0 });
  }

  onTestRunEnd(modules, errors, reason) {
    this.session.ended = true;
    if (this.requested.listing) return;
    this.readNotes();
    const causes = errors.filter((error) => !error.VITEST_TEST_PATH);
    if (this.limit && !causes.length && reason !== "passed" && !modules.every(isOver))
      this.session.enough(this.limit);
    else
      for (const module of modules)
        this.cutOff(module, causes.length ? saidLast(causes[0]) : "vitest left it out");
    for (const error of errors) if (error.VITEST_TEST_PATH) this.unhandled(error.VITEST_TEST_PATH, error);
    if (modules.every(isOver)) for (const error of causes) this.unhandled(process.cwd(), error);
  }

  /** What a module's worker did not live to report. */
  cutOff(module, cause) {
    if (isOver(module)) return;
    if (!this.session.lost(module.moduleId, cause))
      this.session.fileFailed(module.moduleId, { message: cause }, cause);
  }

  /** Of no test in particular: a promise that nobody waited for, as a rule. */
  unhandled(file, error) {
    this.session.fileFailed(file, failureOf(error), error.stack ?? error.message);
  }
}

function isOver(module) {
  return !["pending", "queued"].includes(module.state());
}

function saidLast(error) {
  while (error.cause) error = error.cause;
  return shared.plain(error.message);
}

function phaseOf(test) {
  const { state, errors, note } = test.result();
  const phase = { when: "call", outcome: "passed", duration: (test.diagnostic()?.duration ?? 0) / 1000 };
  if (state === "failed") return { ...phase, ...failed(errors[0], errors) };
  if (state === "passed") return test.options.fails ? { ...phase, outcome: "skipped", wasxfail: "" } : phase;
  return { ...phase, outcome: "skipped", reason: note ?? (test.options.mode === "todo" ? "todo" : "") };
}

function failed(error, errors = [error]) {
  const text = errors.map((one) => one?.stack ?? one?.message ?? String(one)).join("\n");
  return { outcome: "failed", failure: failureOf(error), longrepr: shared.trace(text) };
}

function failureOf(error) {
  const facts = shared.failure(error);
  if (typeof error?.expected === "string" && typeof error?.actual === "string") {
    facts.expected = shared.shown(error.expected);
    facts.actual = shared.shown(error.actual);
    facts.difference = shared.difference(error.diff);
  }
  return facts;
}

/** Why a file has no tests. Where a parser stopped is not in its stack. */
function explained(file, error) {
  const facts = failureOf(error);
  const { line, column } = error.__vitest_rollup_error__?.loc ?? {};
  const known = line > 1 || column ? line : 0; // 1:0 is what it says when it does not know
  const stopped = STOPPED.exec(shared.plain(error.message ?? ""))?.[1] ?? known;
  if (stopped || !facts.place) facts.place = { file: shared.relative(file), line: Number(stopped) };
  return facts;
}

function noted(state, milliseconds, errors) {
  const phase = { when: "call", outcome: "passed", duration: milliseconds / 1000 };
  if (state === "fail") return { ...phase, ...failed(errors[0] ?? { message: "it failed" }, errors) };
  return state === "pass" ? phase : { ...phase, outcome: "skipped" };
}

export default shared.guarded(VitestReporter);
