import { expect, it } from "vitest";
import { QuietSentinels } from "../../src/client/quiet-sentinels.js";

it("the connections that listen for a failover are ended once, however often a master is looked for after that", async () => {
  const connector = new QuietSentinels({
    // No server listens on this port, so it refuses the connection.
    sentinels: [{ host: "127.0.0.1", port: 1 }],
    name: "mymaster",
    disconnectTimeout: 1_000,
    sentinelRetryStrategy: () => null,
  } as ConstructorParameters<typeof QuietSentinels>[0]);
  let ended = 0;
  Object.assign(connector, { failoverDetector: { cleanup: () => ended++ } });
  for (let nth = 0; nth < 3; nth++) {
    await expect(connector.connect(() => {})).rejects.toThrow(/sentinels/);
  }
  expect(ended).toBe(1);
});
