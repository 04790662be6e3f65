import { startZooKeeper } from "@holdfast/test-servers";
import { everywhere, ofSemaphore, upgradeCases } from "./cases.js";

upgradeCases("ZooKeeper", {
  backend: "zookeeper",
  kinds: [
    ...everywhere,
    { kind: "semaphore", ...ofSemaphore },
    { kind: "semaphore-mutex" },
    { kind: "naive-mutex" },
    { kind: "selector-election" },
  ],
  refused: [
    ["leader-election", "selector-election"],
    ["selector-election", "leader-election"],
    ["semaphore", "mutex"],
  ],
  async start() {
    const server = await startZooKeeper();
    return {
      options: { connect: server.connectString, sessionTimeoutMs: 4_000 },
      stop: () => server.stop(),
    };
  },
});
