import { expect, test } from "vitest";
import { expiresServerMs, parseGrantMessage } from "../../src/layout/grant-message.js";

const granted = {
  type: "granted",
  key: "orders",
  owner: "u:1",
  token: "1795289719254015",
  pttl: "3000",
  at: "1795289719254999",
  run: "abc",
};

test("a grant is read with its date, and ends when the server's whole milliseconds say so", () => {
  const message = parseGrantMessage(JSON.stringify(granted));
  expect(message).toEqual({
    type: "granted",
    key: "orders",
    owner: "u:1",
    token: 1795289719254015n,
    pttlMs: 3000,
    serverMs: 1795289719254.999,
    runId: "abc",
  });
  expect(message?.type === "granted" && expiresServerMs(message)).toBe(1795289722254);
});

test.each(["nudge", "stolen", "revoke"] as const)("%s names key and owner", (type) => {
  expect(parseGrantMessage(JSON.stringify({ type, key: "k", owner: "o" }))).toEqual({
    type,
    key: "k",
    owner: "o",
  });
});

test.each([
  "",
  "0",
  "null",
  "[]",
  "{",
  JSON.stringify({ type: "granted", key: "orders", owner: "u:1" }),
  JSON.stringify({ ...granted, token: 5 }),
  JSON.stringify({ ...granted, token: "-1" }),
  JSON.stringify({ ...granted, pttl: "1.5" }),
  JSON.stringify({ ...granted, run: undefined }),
  JSON.stringify({ type: "other", key: "k", owner: "o" }),
  JSON.stringify({ type: "nudge", key: 1, owner: "o" }),
])("%s is no message of ours", (text) => {
  expect(parseGrantMessage(text)).toBeNull();
});
