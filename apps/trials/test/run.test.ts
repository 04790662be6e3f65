import type { ServerSet, Topology } from "@holdfast/chaos";
import { expect, it } from "vitest";
import { Stage } from "../src/run.js";
import { type Subject, subjects } from "../src/subjects.js";

it("servers that cannot be closed do not end the trials: they are left, and the next cell gets new ones", async () => {
  const log: string[] = [];
  const stage = new Stage(async (_subject, topology) => {
    log.push(`start ${topology.kind}`);
    const close = async (): Promise<void> => {
      log.push(`close ${topology.kind}`);
      throw new Error("EBUSY");
    };
    return { topology, close } as unknown as ServerSet;
  });
  const subject = subjects[0] as Subject;
  const wanted: readonly Topology[] = [{ kind: "redis" }, { kind: "masters", count: 5 }];
  for (const topology of wanted) expect(await stage.servers(subject, topology)).toMatchObject({ topology });
  await stage.close();
  await stage.close();
  expect(log).toEqual(["start redis", "close redis", "start masters", "close masters"]);
});
