import type { Stat } from "@holdfast/zk-protocol";
import type {
  BareTree,
  RecognisedTree,
  TreeBranch,
  TreeNode,
  TreeParticipant,
} from "../../src/layout/tree.js";

let made = 0;

export function stat(of: Partial<Stat> = {}): Stat {
  return {
    czxid: 1n,
    mzxid: 1n,
    ctime: 1_000n,
    mtime: 1_000n,
    version: 0,
    cversion: 0,
    aversion: 0,
    ephemeralOwner: 0n,
    dataLength: 0,
    numChildren: 0,
    pzxid: 1n,
    ...of,
  };
}

/** A node of a session. Its czxid is above those of all nodes that were made before it. */
export function node(name: string, session: number, data = "192.0.2.1", of: Partial<Stat> = {}): TreeNode {
  const bytes = Buffer.from(data, "latin1");
  made += 1;
  const czxid = BigInt(1_000 + made);
  return {
    name,
    stat: stat({ czxid, mzxid: czxid, ephemeralOwner: BigInt(session), dataLength: bytes.length, ...of }),
    data: bytes,
  };
}

/** A name as Curator makes it with protection. */
export function named(base: string, sequence: number | string, maker = 1): string {
  const digits = typeof sequence === "string" ? sequence : String(sequence).padStart(10, "0");
  return `_c_00000000-0000-4000-8000-${String(maker).padStart(12, "0")}-${base}${digits}`;
}

export function tree(children: readonly TreeNode[], of: Partial<BareTree> = {}): BareTree {
  return { path: "/app/lock", stat: branchStat(children), data: null, children, ...of };
}

export function branch(children: readonly TreeNode[]): TreeBranch {
  return { stat: branchStat(children), children };
}

function branchStat(children: readonly TreeNode[]): Stat {
  return stat({ numChildren: children.length, cversion: children.length });
}

export const names = (of: readonly { readonly name: string }[]): string[] => of.map(({ name }) => name);

/** What was recognised, without the parts that differ from run to run: ids, sessions, times, addresses. */
export function said({ kind, guessed, holders, waiters, findings }: RecognisedTree): unknown {
  const sessions: (bigint | null)[] = [];
  const person = ({ name, mode, session, label, address, recognisedAs }: TreeParticipant): string => {
    if (!sessions.includes(session)) sessions.push(session);
    const who = `session ${sessions.indexOf(session)}`;
    return [mode, masked(name), who, label ?? "-", address === null ? "-" : "address", recognisedAs].join(
      " ",
    );
  };
  return {
    kind: guessed ? `${kind}?` : kind,
    holders: holders.map(person),
    waiters: waiters.map(person),
    findings: findings.map(({ type }) => type),
  };
}

function masked(name: string): string {
  return name.replace(/[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}/, "<id>");
}
