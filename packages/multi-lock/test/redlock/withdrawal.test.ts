import { simulatedRuntime } from "@holdfast/core/testing";
import { NotSentError, OutcomeUnknownError } from "@holdfast/redis-recipes/internal";
import { expect, test } from "vitest";
import type { NodeLock } from "../../src/redlock/node-locks.js";
import type { Quorum } from "../../src/redlock/quorum.js";
import type { VotingNode } from "../../src/redlock/voting-node.js";
import { withdraw } from "../../src/redlock/withdrawal.js";

const details = { servers: ["h:1"] };

test.each([
  ["could not be sent ended nothing", new NotSentError("no connection", details), false],
  ["was not answered may have ended the hold", new OutcomeUnknownError("no answer", details), true],
])("a release that %s", async (_what, error, mayHaveEnded) => {
  const runtime = simulatedRuntime(1);
  const node = { connected: true, line: { closed: false } } as unknown as VotingNode;
  const answers: (() => Promise<unknown>)[] = [
    () => Promise.reject(error),
    async () => ({ reply: { status: "gone" } }),
  ];
  const lock = { release: () => answers.shift()?.() } as unknown as NodeLock;
  const quorum = { runtime, settings: { nodeTimeoutMs: 1_000 } as Quorum["settings"] };
  let gone: ReadonlySet<VotingNode> | undefined;
  void withdraw(quorum, { lock, owner: "owner", nodes: [node], leaseMs: 10_000, needed: 1 }).then((nodes) => {
    gone = nodes;
  });
  await runtime.advance(500);
  expect(gone?.has(node)).toBe(!mayHaveEnded);
});
