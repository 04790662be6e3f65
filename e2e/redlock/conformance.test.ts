import { mutexConformance, reentrantMutexConformance } from "@holdfast/conformance";
import type { RedisNode } from "@holdfast/test-servers";
import { afterAll, beforeAll, describe } from "vitest";
import { sharePrinted } from "../support/share-of-cases.js";
import { redLockFixture } from "./fixture.js";
import { votingMasters } from "./masters.js";

describe.each([3, 5])("a majority of %i masters", (count) => {
  let masters: readonly RedisNode[];
  beforeAll(async () => {
    masters = await votingMasters(count);
  });
  afterAll(() => Promise.all(masters.map((node) => node.stop())));

  const fixture = () => redLockFixture(masters);
  const name = `RedLock, ${count} masters`;
  const { chosen, print } = sharePrinted(name, 0.06);
  mutexConformance(name, fixture, { chosen });
  reentrantMutexConformance(name, fixture, { chosen });
  print();
});
