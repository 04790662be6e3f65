import { expect, it } from "vitest";
import { NodeLock } from "../../src/redlock/node-locks.js";
import type { ResolvedRedLocksOptions } from "../../src/redlock/options.js";
import type { VotingNode } from "../../src/redlock/voting-node.js";

const settings = { keyPrefix: "", nodeTimeoutMs: 150, maxLeaseMs: 30_000, tokenTtlMs: 0, restartGuard: true };

it.each([
  ["in time is asked once more, since the bound of the node's clock was wrong", 10, true, 2],
  ["after its time is not asked again", 200, true, 1],
  ["in time, but when the votes were taken back already, is not asked again", 10, false, 1],
])(
  "a vote that comes too late by the node's clock and was answered %s",
  async (_what, tookMs, wanted, asked) => {
    let votes = 0;
    const node = {
      durable: false,
      notAfterMs: () => 1_000,
      ask: async () => ({
        reply: { status: ++votes === 1 ? "late" : "granted" },
        sentMs: 0,
        answeredMs: tookMs,
      }),
    };
    const lock = new NodeLock("a", settings as ResolvedRedLocksOptions);
    const { reply } = await lock.vote(node as unknown as VotingNode, "owner", 10_000, () => wanted);
    expect(votes).toBe(asked);
    expect(reply.status).toBe(asked === 2 ? "granted" : "late");
  },
);
