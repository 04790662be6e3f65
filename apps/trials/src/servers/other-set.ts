import { existsSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Server, ServerSet, Topology } from "@holdfast/chaos";
import { proxiedLink, SweptFolder, unproxiedLink } from "@holdfast/chaos/internal";
import { eventually, freePort, startProxy } from "@holdfast/test-servers";
import { ServerProcess, type Start } from "./server-process.js";

/** How one kind of server is started and asked. */
export interface OtherServer {
  readonly name: string;
  readonly version: string;
  /** The command that starts it over `folder`, which is the same at each start of one server. Called once. */
  prepare(folder: string, port: number): Promise<Start>;
  /** Whether the server serves. A rejection counts as no. */
  serves(port: number): Promise<boolean>;
  /** Ends the session by which a worker holds a key, as an operator could. Resolves with the evidence. */
  endSession(port: number, holder: { readonly p: string; readonly key: string }): Promise<unknown>;
}

/**
 * Files here outlive a process, as files on a disk do. But writes of other programs do not slow down a server that
 * writes here.
 */
const memory = "/dev/shm";
/** The servers preallocate their logs up to this size. */
const roomBytes = 512 * 1_024 * 1_024;

function place(): string {
  if (!existsSync(memory)) return tmpdir();
  const { bavail, bsize } = statfsSync(memory);
  return bavail * bsize >= roomBytes ? memory : tmpdir();
}

/** Starts one server of a kind that the chaos runner does not know, as a set of servers for its engine. */
export async function startOther(kind: OtherServer, topology: Topology): Promise<ServerSet> {
  const scratch = new SweptFolder(kind.name, place());
  const port = await freePort();
  const logFile = join(scratch.path, "server.log");
  let start: Start | null = null;
  let process: ServerProcess;
  const up = async (): Promise<void> => {
    start ??= await kind.prepare(scratch.path, port);
    process = await ServerProcess.start(start, logFile);
    await eventually(() => kind.serves(port).catch(() => false), {
      what: `${kind.name} to serve`,
      withinMs: 30_000,
    });
  };
  const close = async (): Promise<void> => {
    await process?.kill();
    await scratch.remove();
  };
  try {
    await up();
  } catch (error) {
    await close();
    throw error;
  }
  const server: Server = {
    name: kind.name,
    get running() {
      return process.running;
    },
    role: async () => ((await kind.serves(port).catch(() => false)) ? "standalone" : null),
    kill: () => process.kill(),
    pause: async () => process.signal("SIGSTOP"),
    resume: () => process.signal("SIGCONT"),
    async restart() {
      await process.kill();
      await up();
    },
    evidence: () => ({ port, pid: process.pid }),
  };
  const address = { host: "127.0.0.1", port };
  const addresses = { kind: "other", address } as const;
  return {
    topology,
    versions: { [kind.name]: kind.version },
    addresses,
    servers: [server],
    async link(worker, proxied) {
      if (!proxied) return unproxiedLink(addresses);
      const proxy = await startProxy({ target: address, name: `${worker} to ${kind.name}` });
      return proxiedLink({ kind: "other", address: { ...address, port: proxy.port } }, [proxy]);
    },
    // The trials do not judge what is left of a lock.
    observer: async () => ({
      look: async () => ({ holders: [], queue: [] }),
      left: async () => [],
      close: async () => {},
    }),
    async heal() {
      server.resume();
      if (!server.running) await server.restart();
    },
    logs: () => [{ name: kind.name, path: logFile }],
    endSession: ({ p, key: { name } }) => kind.endSession(port, { p, key: name }),
    close,
  };
}
