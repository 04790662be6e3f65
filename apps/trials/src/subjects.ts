import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { basename, delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Provides } from "@holdfast/chaos";
import type { WorkerProgram } from "@holdfast/chaos/internal";
import { findCurator, findKazoo } from "@holdfast/test-servers";
import { Missing } from "./missing.js";
import { redissonJars } from "./redisson-jars.js";
import { etcd } from "./servers/etcd.js";
import type { OtherServer } from "./servers/other-set.js";
import { postgres } from "./servers/postgres.js";

/** The kind of server in which a subject keeps its locks. It decides which faults fit, and how they are made. */
export type Family = "redis" | "masters" | "zookeeper" | "etcd" | "postgresql";

/** One lock library in its safest documented configuration. */
export interface Subject {
  readonly id: string;
  readonly name: string;
  readonly family: Family;
  /** The settings that differ from the default, in words. */
  readonly configuration: string;
  /** Where that is documented. */
  readonly source: string;
  readonly provides: Provides;
  /** What the fencing tokens of the subject are. */
  readonly tokens: string;
  /** `false` if a hold ends with its first lease. The holds in the trials are then shorter than the lease. */
  readonly renews: boolean;
  readonly options?: Readonly<Record<string, string | number | boolean>>;
  /** Added to `options` if the server is a master with replicas. */
  readonly replicatedOptions?: Subject["options"];
  /** The faults that its documents exclude from their promises, by the fault's id, with the place where they say so. */
  readonly outOfScope: Readonly<Partial<Record<string, { readonly says: string; readonly source: string }>>>;
  /** The version that is run. @throws Missing if it is not installed; the message says how to get it */
  version(): string;
  /** The folder in `packages` that contains its lock; unset for libraries of others. */
  readonly ownPackage?: string;
  /** Its client: the name of one of the chaos runner's own recipes, or the URL of a module. */
  readonly recipe: string;
  /** Gives the program of its worker, if the chaos runner does not know it by the recipe. */
  program?(): Promise<WorkerProgram>;
  /** A server that only this package can start. @throws Missing */
  server?(): OtherServer;
}

/** Node runs the workers and reads no TypeScript, so even a run from the sources uses the built clients. */
const clients = new URL("../dist/clients/", import.meta.url);

const client = (file: string): string => new URL(`${file}.js`, clients).href;

const inRedisDocs = "https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/";
const asynchronous = {
  says: "replication is asynchronous: what replicas had not heard of is lost with the master",
  source: `${inRedisDocs} ("Why Failover-based Implementations Are Not Enough")`,
};
const restarts = {
  says: "a server that forgets what it granted breaks the lock unless it stays away for a lease",
  source: `${inRedisDocs} ("Performance, Crash Recovery and fsync")`,
};
const staleHolders = {
  says: "a lock may be over while its holder lives; fencing tokens are to be added",
  source: `${inRedisDocs} ("Disclaimer about consistency")`,
};
const wallClocks = {
  says: "a shift of the server's wall clock may let more than one have the lock",
  source: `${inRedisDocs} ("Disclaimer about consistency")`,
};
/** The page of this repository that says what no client of one Redis server can promise. */
const ownLimits = 'packages/redis-recipes/README.md ("What it guarantees, and what it cannot")';

export const subjects: readonly Subject[] = [
  {
    id: "set-nx",
    name: "SET NX PX with ioredis",
    family: "redis",
    configuration: "a value of its own, compare-and-delete, no answer waited for longer than half a lease",
    source: `${inRedisDocs} ("Correct Implementation with a Single Instance")`,
    provides: { kinds: ["mutex"], servers: ["redis", "replicated"] },
    tokens: "none",
    renews: false,
    outOfScope: {
      pause: staleHolders,
      empty: restarts,
      failover: asynchronous,
      "server-clock": wallClocks,
    },
    version: () => versionOf("ioredis"),
    recipe: client("set-nx"),
  },
  {
    id: "redis-semaphore",
    name: "redis-semaphore `Mutex`",
    family: "redis",
    configuration: "`onLockLost` heeded, renewed at 4/5 of the lease (default), `acquireTimeout` raised",
    source: "https://github.com/swarthy/redis-semaphore#mutex",
    provides: { kinds: ["mutex"], servers: ["redis", "replicated"], tellsLoss: true },
    tokens: "none",
    renews: true,
    outOfScope: {},
    version: () => versionOf("redis-semaphore"),
    recipe: client("redis-semaphore"),
  },
  {
    id: "redisson",
    name: "Redisson `RFencedLock`",
    family: "redis",
    configuration:
      "no lease of the caller's, so that the watchdog renews; replicas checked (default), tokens handed to the store",
    source: "https://redisson.pro/docs/data-and-services/locks-and-synchronizers/#fenced-lock",
    provides: { kinds: ["mutex"], servers: ["redis", "replicated"], tokens: true },
    tokens: "a counter beside the lock",
    renews: true,
    outOfScope: {},
    version: () => basename(redissonJars()).replace("redisson-", ""),
    recipe: "redisson",
    async program() {
      // The chaos runner looks for the jars here first.
      process.env.REDISSON_JARS = redissonJars();
      return await (await import("@holdfast/chaos/internal")).programOf("redisson");
    },
  },
  {
    id: "holdfast-redis",
    name: "holdfast on Redis",
    family: "redis",
    configuration: '`acks: "all"` where there are replicas; `lost` heeded, tokens handed to the store',
    source: "packages/redis-recipes/README.md",
    provides: {
      kinds: ["mutex"],
      servers: ["redis", "replicated"],
      tokens: true,
      tellsLoss: true,
      promises: true,
    },
    tokens: "a counter beside the lock, with the server's time where it was lost",
    renews: true,
    replicatedOptions: { acks: "all", waitTimeoutMs: 500 },
    outOfScope: {
      failover: {
        says: "`acks` makes two holders rarer and shorter, and never impossible",
        source: ownLimits,
      },
      empty: { says: "a server that comes back without its data has freed every lock", source: ownLimits },
      "server-clock": { says: "a step of the server's clock forward frees locks early", source: ownLimits },
    },
    version: ours,
    ownPackage: "redis-recipes",
    recipe: "redis",
  },
  {
    id: "redlock",
    name: "redlock `using`",
    family: "masters",
    configuration:
      "five independent masters, default settings, its signal heeded, renewed 500 ms before the end (default)",
    source:
      "https://github.com/mike-marcacci/node-redlock#usage (it names the page of Redis as its algorithm)",
    provides: { kinds: ["mutex"], servers: ["masters"], tellsLoss: true },
    tokens: "none",
    renews: true,
    outOfScope: { pause: staleHolders, empty: restarts },
    version: () => versionOf("redlock"),
    recipe: client("redlock"),
  },
  {
    id: "holdfast-redlock",
    name: "holdfast RedLock",
    family: "masters",
    configuration: 'five independent masters, `restartGuard` (default), `fencing: "write-back"`',
    source: "packages/multi-lock/README.md",
    provides: { kinds: ["mutex"], servers: ["masters"], tokens: true, tellsLoss: true, promises: true },
    tokens: "a counter of the majority, written back",
    renews: true,
    options: { fencing: "write-back" },
    outOfScope: {},
    version: ours,
    ownPackage: "multi-lock",
    recipe: "redlock",
  },
  {
    id: "curator",
    name: "Curator `InterProcessMutex`",
    family: "zookeeper",
    configuration: "a hold counts as lost at SUSPENDED already",
    source: 'https://curator.apache.org/docs/recipes-shared-reentrant-lock ("Error Handling")',
    provides: { kinds: ["mutex"], servers: ["zookeeper"], tellsLoss: true, fair: true },
    tokens: "none of its own",
    renews: true,
    options: { suspended: "lost" },
    outOfScope: {
      pause: {
        says: "a JVM that stands still for longer than its session goes on after another was granted",
        source: "https://cwiki.apache.org/confluence/display/CURATOR/TN10",
      },
    },
    version: () => debianVersion(findCurator()?.classPath, "curator-recipes"),
    recipe: "curator",
  },
  {
    id: "kazoo",
    name: "kazoo `Lock`",
    family: "zookeeper",
    configuration: "a hold counts as lost at SUSPENDED already",
    source: "https://kazoo.readthedocs.io/en/latest/basic_usage.html#listening-for-connection-events",
    provides: { kinds: ["mutex"], servers: ["zookeeper"], tellsLoss: true, fair: true },
    tokens: "none of its own",
    renews: true,
    outOfScope: {},
    version: kazooVersion,
    recipe: "kazoo",
    async program() {
      const file = fileURLToPath(new URL("../python/kazoo_worker.py", import.meta.url));
      return { command: kazoo(), args: ["-B", file] };
    },
  },
  {
    id: "holdfast-zookeeper",
    name: "holdfast on ZooKeeper",
    family: "zookeeper",
    configuration: "as it comes; `lost` heeded, tokens handed to the store",
    source: "packages/zk-recipes/README.md",
    provides: {
      kinds: ["mutex"],
      servers: ["zookeeper"],
      tokens: true,
      tellsLoss: true,
      promises: true,
      fair: true,
    },
    tokens: "the czxid of its node",
    renews: true,
    outOfScope: {},
    version: ours,
    ownPackage: "zk-recipes",
    recipe: "zookeeper",
  },
  {
    id: "etcd",
    name: "etcd's Lock service",
    family: "etcd",
    configuration:
      "a lease of its own for each hold, kept alive; its end heeded, revisions handed to the store",
    source: "https://etcd.io/docs/v3.4/learning/why/#notes-on-the-usage-of-lock-and-lease",
    provides: { kinds: ["mutex"], servers: ["other"], tokens: true, tellsLoss: true },
    tokens: "the revision of its grant",
    renews: true,
    outOfScope: {},
    version: () => etcd().version,
    recipe: client("etcd"),
    server: etcd,
  },
  {
    id: "postgresql",
    name: "PostgreSQL `pg_advisory_lock`",
    family: "postgresql",
    configuration: "of a session, a connection for each hold, whose end is heeded; keep-alive on both sides",
    source: "https://www.postgresql.org/docs/15/explicit-locking.html#ADVISORY-LOCKS",
    provides: { kinds: ["mutex"], servers: ["other"], tellsLoss: true },
    tokens: "none",
    renews: true,
    outOfScope: {},
    version: () => `${postgres().version}, pg ${versionOf("pg")}`,
    recipe: client("postgres"),
    server: postgres,
  },
];

function ours(): string {
  const file = new URL("../package.json", import.meta.url);
  return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
}

/**
 * The version in the `package.json` of an installed package. Its `exports` may hide that file, so the file is searched
 * from the entry upwards.
 */
function versionOf(packageName: string): string {
  for (let folder = dirname(fileURLToPath(import.meta.resolve(packageName))); ; folder = dirname(folder)) {
    if (folder === dirname(folder)) throw new Missing(`no ${packageName}: npm ci`);
    try {
      const about = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
      if (about.name === packageName && about.version !== undefined) return about.version.replace(/^v/, "");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
  }
}

/** Debian gives each jar a second name with its version. */
function debianVersion(classPath: string | undefined, jar: string): string {
  const file = classPath?.split(delimiter).find((each) => basename(each) === `${jar}.jar`);
  if (file === undefined) throw new Missing("no Curator: npx holdfast-servers ensure --only curator");
  const names = readdirSync(dirname(file)).flatMap(
    (name) => name.match(`^${jar}-(\\d[\\d.]*)\\.jar$`)?.[1] ?? [],
  );
  return names[0] ?? "unknown";
}

function kazoo(): string {
  const install = findKazoo();
  if (install === undefined) throw new Missing("no kazoo: npx holdfast-servers ensure --only kazoo");
  return install.python;
}

function kazooVersion(): string {
  const ask = "import kazoo.version; print(kazoo.version.__version__)";
  return execFileSync(kazoo(), ["-c", ask], { encoding: "utf8" }).trim();
}
