import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { CheckResult } from "../../src/checkers/verdict.js";
import { decide } from "../../src/engine/decide.js";
import type { Topology } from "../../src/engine/scenario.js";
import { ServerDisorder } from "../../src/engine/server-disorder.js";

const extra =
  "04:08:34.384 [CommitProcessor:1] WARN org.apache.zookeeper.server.DataTree - Unexpected extra paths under session [/a/locks/_c_1-lock-0000000052] which are not in txn 0x2000000c7\n";
const replayed =
  "04:08:34.384 [CommitProcessor:1] WARN org.apache.zookeeper.server.DataTree - Ignoring NoNodeException for path /a/leases/_c_2-lease-0000000080 while removing ephemeral for dead session 0x30002e279af0002\n";

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "disorder-"));
  path = join(folder, "zk1.log");
});
afterEach(() => rmSync(folder, { recursive: true }));

const of = (topology: Topology = { kind: "zookeeper", members: 3 }): ServerDisorder =>
  new ServerDisorder({
    topology,
    logs() {
      // Real sets of servers find their topology by `this`, so `this` must be the set here too.
      return [{ name: `${this.topology.kind === "zookeeper" ? "zk" : "?"}1`, path }];
    },
  });

it("a member of an ensemble that had nodes which its leader had deleted is named", () => {
  writeFileSync(path, "started\n");
  const disorder = of();
  appendFileSync(path, `something else\n${extra}more\n`);
  expect(disorder.seen()).toEqual([`zk1 and its leader are at odds: ${extra.trim()}`]);
});

it("what a server writes that reads its own log behind a snapshot is no such sign", () => {
  const disorder = of();
  writeFileSync(path, replayed);
  expect(disorder.seen()).toEqual([]);
});

it("what was written before, or by a server that is alone, says nothing of this run", () => {
  writeFileSync(path, extra);
  const before = of();
  const alone = of({ kind: "zookeeper", members: 1 });
  appendFileSync(path, "all is well\n");
  expect(before.seen()).toEqual([]);
  appendFileSync(path, extra);
  expect(alone.seen()).toEqual([]);
  expect(before.seen()).toHaveLength(1);
});

it("a log that begins only now is read from its beginning", () => {
  const disorder = of();
  expect(disorder.seen()).toEqual([]);
  writeFileSync(path, extra);
  expect(disorder.seen()).toHaveLength(1);
});

it("a conviction among servers at odds is unknown and names both, and without one nothing changes", () => {
  const result = (verdict: CheckResult["verdict"]): CheckResult => ({
    checker: "mutex",
    verdict,
    summary: "two holders",
    examples: [],
    metrics: {},
  });
  const expected = { pass: ["mutex"] } as const;
  expect(decide(expected, [result("violation")], [], ["zk1 is at odds"])).toEqual({
    outcome: "unknown",
    why: "the servers may have done it (zk1 is at odds): mutex: two holders",
    unexpected: ["mutex"],
  });
  expect(decide(expected, [result("pass")], [], ["zk1 is at odds"]).outcome).toBe("as-expected");
  expect(decide(expected, [result("violation")]).outcome).toBe("violation");
});
