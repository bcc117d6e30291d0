import assert from "node:assert";
import { test } from "node:test";
import { shown } from "../prices.js";

test("whole and part", () => {
  assert.strictEqual(shown(1234), "12.34 €");
});

test("two digits after the point", () => {
  assert.strictEqual(shown(1205), "12.05 €");
});
