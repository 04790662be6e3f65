import { buildPackages, emit } from "../support/process/emit.js";
import { LineProcess } from "../support/process/line-process.js";

export interface SetContest {
  readonly how: "together" | "singly";
  readonly seed: number;
  readonly rounds: number;
  readonly label: string;
  /** The folder with a counter for each name. */
  readonly folder: string;
  readonly names: readonly string[];
}

/** Where the locks are. Without its address, a server is not used. */
export interface SetServers {
  /** The connect string of ZooKeeper, which has the names that begin with `/`. */
  readonly zookeeper?: string;
  /** The URL of Redis, which has the other names. */
  readonly redis?: string;
}

export interface SetContender {
  contend(contest: SetContest, withinMs: number): Promise<{ readonly longestWaitMs: number }>;
  /** How many rounds are done. */
  progress(): Promise<number>;
  /** Holds all of these locks until the returned function is called. */
  hold(names: readonly string[]): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

/** Starts processes that take sets of locks through the built packages, as installed services would. */
export async function startSetContenders(
  servers: SetServers,
  count: number,
): Promise<readonly SetContender[]> {
  await buildPackages("@holdfast/multi-lock", "@holdfast/zk-recipes");
  await using emitted = await emit("multi-lock/set-contender");
  const started: LineProcess[] = [];
  try {
    for (let i = 0; i < count; i++) {
      const lines = new LineProcess(process.execPath, [emitted.file]);
      started.push(lines);
      await lines.request("connect", [servers.zookeeper ?? "-", servers.redis ?? "-"], 30_000);
    }
  } catch (error) {
    for (const lines of started) await lines.kill();
    throw error;
  }
  return started.map((lines) => ({
    async contend({ how, seed, rounds, label, folder, names }, withinMs) {
      const args = [how, String(seed), String(rounds), label, folder, ...names];
      const [longest] = await lines.request("contend", args, withinMs);
      return { longestWaitMs: Number(longest) };
    },
    async progress() {
      return Number((await lines.request("progress", [], 30_000))[0]);
    },
    async hold(names) {
      await lines.request("hold", names, 60_000);
      return async () => void (await lines.request("free", [], 30_000));
    },
    async close() {
      try {
        await lines.request("close", [], 30_000);
      } finally {
        await lines.end(5_000);
      }
    },
  }));
}
