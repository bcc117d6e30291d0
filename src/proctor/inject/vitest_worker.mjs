/* Note which test is running, in a worker of vitest. A setup file: it runs before each file of tests.

   Vitest keeps what is running in the state of its worker, and sets it anew whenever that changes. */

import notes from "./proctor_notes.cjs";

const PLACE = process.env.PROCTOR_VITEST_NOTES;
const state = globalThis.__vitest_worker__;
const MARK = Symbol.for("proctor.watched");

function carried({ name, message, stack, expected, actual, diff }) {
  return { name, message, stack, expected, actual, diff };
}

function watch(writer) {
  const running = new Set();
  let current = state.current;
  Object.defineProperty(state, "current", {
    configurable: true,
    enumerable: true,
    get: () => current,
    set(task) {
      current = task;
      for (const test of running) {
        const { state: reached, duration, errors } = test.result ?? {};
        if (!reached || reached === "run") continue;
        running.delete(test);
        writer.write("ended", test.id, reached, duration ?? 0, (errors ?? []).map(carried));
      }
      if (task?.type === "test" && !running.has(task)) {
        running.add(task);
        writer.write("began", task.id);
      }
    },
  });
}

if (PLACE && state && !state[MARK]) {
  state[MARK] = true;
  try {
    watch(new notes.NoteWriter(PLACE));
  } catch {
    // then vitest's own word has to do
  }
}
