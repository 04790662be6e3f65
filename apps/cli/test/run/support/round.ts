import { setTimeout as sleep } from "node:timers/promises";
import { type EmbeddedZooKeeper, type RedisNode, startProxy } from "@holdfast/test-servers";
import { blockable, Holdfast, writer } from "./holdfast.js";
import { EndedEarly, meeting, Resource } from "./resource.js";

export const commandKinds = ["plain", "ignores SIGTERM", "has a child", "is stopped"] as const;
export const faults = [
  "network cut",
  "ended by the server",
  "client blocked",
  "client stopped",
  "client killed",
  "supervisor killed",
] as const;
export type CommandKind = (typeof commandKinds)[number];
export type Fault = (typeof faults)[number];

/** The lease of the first client. The second client has a longer one, so that a busy machine does not end it too. */
export const leaseMs = 3_000;
/** The default margin for this lease. */
export const marginMs: number = leaseMs / 6;

/** What one round has shown. */
export interface RoundResult {
  readonly name: string;
  readonly fault: Fault;
  readonly backend: Backend["kind"];
  readonly overlapMs: number;
  /** The time from the fault to the last sign of the first command. */
  readonly deadAfterMs: number;
  /** The time from the last sign of the first command to the first sign of the second. */
  readonly aheadMs: number;
  /** How the first `holdfast run` ended. */
  readonly firstEnd: number | string;
}

export type Backend =
  | { readonly kind: "zookeeper"; readonly server: EmbeddedZooKeeper }
  | { readonly kind: "redis"; readonly server: RedisNode };

const flagsOf: Readonly<Record<CommandKind, readonly string[]>> = {
  plain: [],
  "ignores SIGTERM": ["--ignore-term"],
  "has a child": ["--child", "--ignore-term"],
  "is stopped": [],
};

const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6;

/**
 * Two `holdfast run` on one lock. The fault happens to the first one, `afterMs` after the second one was started. The first
 * command writes by then. The round ends when the second command was granted the lock and has ended.
 */
export async function round(
  number: number,
  {
    backend,
    command,
    fault,
    afterMs,
  }: { backend: Backend; command: CommandKind; fault: Fault; afterMs: number },
): Promise<RoundResult> {
  const name = `${number}: ${backend.kind}, a command that ${command}, ${fault}`;
  using resource = new Resource();
  const [host, port] =
    backend.kind === "zookeeper"
      ? [backend.server.host, backend.server.port]
      : ["127.0.0.1", backend.server.port];
  const proxy = await startProxy({ target: { host, port } });
  const user = `round-${number}`;
  try {
    if (backend.kind === "redis")
      await backend.server.command("ACL", "SETUSER", user, "on", ">secret", "~*", "&*", "+@all");
    const lock = `round-${number}`;
    const place = (address: string, as: string): Record<string, string> =>
      backend.kind === "zookeeper"
        ? { HOLDFAST_ZOOKEEPER: address }
        : { HOLDFAST_REDIS: `redis://${as}${address}` };
    const run = (env: Record<string, string>, lease: string, flags: readonly string[]): Holdfast => {
      const command = [process.execPath, writer, resource.file, ...flags];
      return new Holdfast(["run", "--lock", lock, "--lease", lease, "--", ...command], env);
    };
    using first = run(
      { ...place(proxy.connectString, `${user}:secret@`), NODE_OPTIONS: `--import=${blockable}` },
      `${leaseMs}ms`,
      flagsOf[command],
    );
    const [begin] = await resource.begun(command === "has a child" ? 2 : 1, first);
    const session = backend.kind === "zookeeper" ? sessionOf(backend.server, lock) : 0n;
    using second = run(place(`${host}:${port}`, ""), "10s", ["--for", "150"]);
    // The moment is random relative to what the second one is doing. There is no state that the test could wait for.
    await sleep(afterMs);
    if (first.over) throw new EndedEarly(first);
    if (command === "is stopped") process.kill(begin.pid, "SIGSTOP");
    const faultAtMs = nowMs();
    await inject(fault, { backend, first, supervisor: begin.ppid, proxy, user, session });
    const secondEnd = await second.ended();
    if (secondEnd !== 0) throw new Error(`${name}: the second one ended with ${secondEnd}: ${second.stderr}`);
    if (fault === "client stopped") process.kill(first.pid, "SIGCONT");
    const firstEnd = await first.ended();
    const { overlapMs, lastMs, secondBeganMs } = meeting(resource.lines());
    return {
      name,
      fault,
      backend: backend.kind,
      overlapMs,
      deadAfterMs: lastMs - faultAtMs,
      aheadMs: secondBeganMs - lastMs,
      firstEnd,
    };
  } finally {
    await proxy.close();
    if (backend.kind === "redis") await backend.server.command("ACL", "DELUSER", user);
  }
}

function sessionOf(server: EmbeddedZooKeeper, lock: string): bigint {
  const holder = server
    .sessions()
    .find(({ ephemerals }) => ephemerals.some((path) => path.includes(`/${lock}/`)));
  if (holder === undefined) throw new Error(`no session holds ${lock}`);
  return holder.id;
}

interface Victims {
  readonly backend: Backend;
  readonly first: Holdfast;
  readonly supervisor: number;
  readonly proxy: Awaited<ReturnType<typeof startProxy>>;
  readonly user: string;
  /** The ZooKeeper session of the first one. */
  readonly session: bigint;
}

async function inject(
  fault: Fault,
  { backend, first, supervisor, proxy, user, session }: Victims,
): Promise<void> {
  switch (fault) {
    case "network cut":
      await proxy.setMode("hole");
      return;
    case "ended by the server":
      // ZooKeeper ends the session. Redis refuses the renewals, so the lease runs out.
      if (backend.kind === "redis") await backend.server.command("ACL", "SETUSER", user, "-@scripting");
      else backend.server.expireSession(session);
      return;
    case "client blocked":
      process.kill(first.pid, "SIGWINCH");
      return;
    case "client stopped":
      process.kill(first.pid, "SIGSTOP");
      return;
    case "client killed":
      process.kill(first.pid, "SIGKILL");
      return;
    case "supervisor killed":
      process.kill(supervisor, "SIGKILL");
  }
}
