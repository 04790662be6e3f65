import {
  CreateFlags,
  type OpName,
  openAcl,
  type RequestedAcl,
  type RequestOf,
  type Stat,
} from "@holdfast/zk-protocol";
import type { Reply, Wire } from "./wire.js";

export interface CreateOptions {
  readonly data?: Uint8Array | null;
  readonly flags?: number;
  readonly acl?: readonly RequestedAcl[] | null;
}

export function createOf(path: string, options: CreateOptions = {}): RequestOf<"create"> {
  const { data = null, flags = CreateFlags.persistent, acl = openAcl } = options;
  return { path, data, flags, acl };
}

export const ephemeral = { flags: CreateFlags.ephemeral } as const;
export const sequential = { flags: CreateFlags.persistentSequential } as const;
export const ephemeralSequential = { flags: CreateFlags.ephemeralSequential } as const;

/** The response. Rejects with an error that names the server's error code. */
export async function ok<K extends OpName>(
  reply: Promise<Reply<K>>,
): Promise<NonNullable<Reply<K>["response"]>> {
  const { err, response } = await reply;
  if (err !== 0) throw new Error(`answered ${err}`);
  return response as NonNullable<Reply<K>["response"]>;
}

export async function create(wire: Wire, path: string, options: CreateOptions = {}): Promise<string> {
  return (await ok(wire.ask("create", createOf(path, options)))).path;
}

export async function remove(wire: Wire, path: string, version = -1): Promise<void> {
  const { err } = await wire.ask("delete", { path, version });
  if (err !== 0) throw new Error(`delete ${path} answered ${err}`);
}

export async function statOf(wire: Wire, path: string): Promise<Stat | null> {
  const { response } = await wire.ask("exists", { path, watch: false });
  return response === undefined ? null : response.stat;
}

export async function childrenOf(wire: Wire, path: string): Promise<string[]> {
  return [...(await ok(wire.ask("getChildren", { path, watch: false }))).children].sort();
}

export async function errOf<K extends OpName>(wire: Wire, op: K, request: RequestOf<K>): Promise<number> {
  return (await wire.ask(op, request)).err;
}
