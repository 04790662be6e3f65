import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { eventually } from "@holdfast/test-servers";
import { expect, test } from "vitest";
import { drawn } from "../support/share.js";
import { startInside } from "./support/inside.js";

interface Inside {
  /** The pid of the runner inside, and those of the servers that it started. */
  readonly runner: number;
  readonly servers: readonly number[];
  readonly folders: readonly string[];
}

/** A runner with everything: a switch, servers at it that run under the shims, and a small disk. */
const everything = `
  const { startRedis, startZooKeeper } = await import("@holdfast/test-servers");
  const { Placement } = await load("engine/topologies/placement.js");
  const placement = await Placement.open({ namespaces: true, shims: true, diskBytes: 1 << 22 }, 2);
  const [a, b] = placement.places;
  const [disk] = placement.disks;
  const redis = await startRedis({ place: a, config: { dir: disk.path }, appendOnly: "everysec" });
  const zookeeper = await startZooKeeper({ place: b });
  process.on("SIGTERM", async () => {
    await redis.stop();
    await zookeeper.stop();
    await placement.close();
    process.exit(143);
  });
  say({
    runner: process.pid,
    servers: [redis.pid, zookeeper.pid],
    folders: [disk.path, redis.dataDir, zookeeper.dataDir],
  });
  setInterval(() => {}, 1_000);
`;

/** The network namespace of each process, without processes that have just ended or that belong to another user. */
function networks(): Map<number, string> {
  const all = new Map<number, string>();
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      all.set(Number(name), readlinkSync(`/proc/${name}/ns/net`));
    } catch {
      // gone, a zombie, or not ours
    }
  }
  return all;
}

type Blow = (program: { child: { kill(signal: NodeJS.Signals): boolean } }, inside: Inside) => void;
type End = { readonly code: number | null; readonly signal: NodeJS.Signals | null };

const blows: readonly [string, Blow, End][] = [
  // The signal is passed on and the runner inside cleans up. Its exit code is also that of the process outside.
  ["SIGTERM to the runner", ({ child }) => child.kill("SIGTERM"), { code: 143, signal: null }],
  ["SIGKILL to the runner outside", ({ child }) => child.kill("SIGKILL"), { code: null, signal: "SIGKILL" }],
  [
    "SIGKILL to the runner inside",
    (_, { runner }) => process.kill(runner, "SIGKILL"),
    { code: 255, signal: null },
  ],
];

test.each(drawn("blows to a run in namespaces", blows, 1, ([blow]) => blow))(
  "%s leaves no process, no network, no mount and no folder behind",
  async (_, blow, end) => {
    await using program = await startInside(everything);
    const inside = await program.said<Inside>();
    const pids = [inside.runner, ...inside.servers];
    const own = readlinkSync("/proc/self/ns/net");
    const before = networks();
    const made = new Set(pids.map((pid) => before.get(pid)));
    // The network of the runner itself and one for each server. None of them is the network of this test.
    expect(made.size).toBe(3);
    expect(made.has(own)).toBe(false);
    expect(readFileSync(`/proc/${inside.runner}/mounts`, "utf8")).toContain(inside.folders[0]);

    blow(program, inside);
    expect(await program.ended).toEqual(end);
    await eventually(() => [...networks().values()].every((network) => !made.has(network)), {
      what: "the last process to leave the namespaces",
      withinMs: 60_000,
      detail: () => JSON.stringify([...networks()].filter(([, network]) => made.has(network))),
    });
    await eventually(() => inside.folders.every((folder) => !existsSync(folder)), {
      what: "folders to be removed",
      withinMs: 60_000,
      detail: () => JSON.stringify(inside.folders.filter((folder) => existsSync(folder))),
    });
    const mounts = readFileSync("/proc/self/mounts", "utf8");
    for (const folder of inside.folders) expect(mounts).not.toContain(folder);
  },
);
