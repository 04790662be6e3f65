import { expect, it } from "vitest";
import { NodeReads, nodeToRead } from "../../src/zookeeper/node-reads.js";
import { Place } from "../../src/zookeeper/place.js";

it("nodes whose data do not fit into one answer are asked for in smaller batches, until all are read", async () => {
  const asked: number[] = [];
  const read = new Set<string>();
  const reads = new NodeReads({
    // An answer with more than 20 of these nodes would be larger than a frame may be, which ends the connection.
    read: async (paths, each) => {
      asked.push(paths.length);
      if (paths.length > 20) throw new Error("the connection has ended");
      for (const path of paths) each(path, { failure: "absent" });
    },
    nodesToRead: (place) => [nodeToRead(place, `${place.path}/lock-0000000001`)],
    got: ({ path }) => void read.add(path),
    setTimer: (_delayMs, fn) => {
      const timer = setTimeout(fn);
      return () => clearTimeout(timer);
    },
  });
  for (let nth = 0; nth < 300; nth++) reads.want(new Place(`/l${nth}`, { asOfMs: 0 }));
  await expect.poll(() => read.size).toBe(300);
  expect(Math.max(...asked)).toBeGreaterThan(20);
  reads.stop();
});
