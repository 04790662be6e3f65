import { startRedis } from "@holdfast/test-servers";
import { everywhere, ofSemaphore, upgradeCases } from "./cases.js";

upgradeCases("Redis", {
  backend: "redis",
  kinds: [
    ...everywhere,
    { kind: "plain-semaphore", ...ofSemaphore, outlivesItsHolder: true },
    { kind: "permit-semaphore", ...ofSemaphore },
    { kind: "fair-mutex" },
    { kind: "spin-mutex" },
  ],
  refused: [
    ["mutex", "read-write-lock"],
    ["read-write-lock", "mutex"],
  ],
  presentOptions: { keepMs: 1_000 },
  async start() {
    const server = await startRedis();
    return { options: { url: server.url, leaseMs: 3_000 }, stop: () => server.stop() };
  },
});
