import { startRedis } from "@holdfast/test-servers";
import { urlsOf } from "../redlock/masters.js";
import { upgradeCases } from "./cases.js";

upgradeCases("a majority of three Redis masters", {
  backend: "redlock",
  kinds: [{ kind: "mutex" }, { kind: "reentrant-mutex" }],
  refused: [],
  async start() {
    const masters = await Promise.all([1, 2, 3].map(() => startRedis()));
    // Two masters vote at once. The third may have forgotten votes, so it votes once the longest lease has passed.
    const nodes = urlsOf(masters).map((url, i) => ({ url, durable: i < 2 }));
    return {
      // No master loses data here, so tokens that are written back rise from grant to grant.
      options: { nodes, leaseMs: 3_000, nodeTimeoutMs: 500, fencing: "write-back" },
      stop: () => Promise.all(masters.map((node) => node.stop())),
    };
  },
});
