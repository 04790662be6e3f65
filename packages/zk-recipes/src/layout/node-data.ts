import { hostname, networkInterfaces } from "node:os";
import { InvalidArgumentError } from "@holdfast/core";

/** What Curator's `Revoker` writes into a holder's node to ask for the lock. */
export const revokeMessage: Uint8Array = Buffer.from("__REVOKE__", "ascii");

export function isRevokeMessage(data: Uint8Array | null): boolean {
  return data !== null && Buffer.compare(data, revokeMessage) === 0;
}

let ownAddress: string | undefined;

/** This host's address as text, as Curator's default data has it: the first that is not loopback, else 127.0.0.1. */
function localAddress(): string {
  ownAddress ??=
    Object.values(networkInterfaces())
      .flat()
      .find((candidate) => candidate?.family === "IPv4" && !candidate.internal)?.address ?? "127.0.0.1";
  return ownAddress;
}

/**
 * Data of our queue nodes. Exactly Curator's default, the address; with `identity` a JSON text behind it that shows
 * operators which client this is.
 */
export function nodeData(identity: boolean, label: string | null): Uint8Array {
  const address = localAddress();
  if (!identity) return Buffer.from(address, "utf8");
  const about = { ...(label === null ? {} : { label }), host: hostname(), pid: process.pid };
  return Buffer.from(`${address} ${JSON.stringify(about)}`, "utf8");
}

/** Curator has two recipes for elections; both are one queue, with other names and data. */
export type ElectionLayout = "latch" | "selector";

/**
 * Data of a candidate. A label is written as it is, with `identity` too: Curator shows the whole data as the id of the
 * participant. Without one a `LeaderLatch` has no bytes and a `LeaderSelector` Curator's default, unless `identity` is
 * set. Throws `InvalidArgumentError` for the one label that would be taken for a request to resign.
 */
export function candidateData(layout: ElectionLayout, identity: boolean, label: string | null): Uint8Array {
  if (label !== null && label !== "") {
    const data = Buffer.from(label, "utf8");
    if (!isRevokeMessage(data)) return data;
    throw new InvalidArgumentError(
      `the label ${label} means on ZooKeeper that the leader shall resign; use another`,
    );
  }
  if (identity || layout === "selector") return nodeData(identity, null);
  return new Uint8Array(0);
}

export interface NodeDataView {
  readonly address: string | null;
  readonly label: string | null;
  /** Carries the text that only our `identity` writes. */
  readonly identified: boolean;
}

const nothing: NodeDataView = { address: null, label: null, identified: false };
const addressPattern = /^(\d{1,3}(?:\.\d{1,3}){3}|[0-9a-fA-F:]*:[0-9a-fA-F:.]+)(?: (\{.*\}))?$/s;

/** What a node's data says to a person. Never a reason to decide anything. */
export function readNodeData(data: Uint8Array | null): NodeDataView {
  const text = printable(data);
  if (text === null) return nothing;
  const match = addressPattern.exec(text);
  if (match === null) return { address: null, label: text, identified: false };
  const label = match[2] === undefined ? null : identityLabel(match[2]);
  return { address: match[1] as string, label, identified: label !== null };
}

/**
 * Like `readNodeData`, for a candidate. The data of a latch is an id whatever it looks like, an address too; a selector that has
 * only an address shows Curator's default.
 */
export function readCandidateData(layout: ElectionLayout, data: Uint8Array | null): NodeDataView {
  const view = readNodeData(data);
  if (layout === "selector" || view.address === null || view.label !== null) return view;
  return { address: null, label: view.address, identified: false };
}

/** `null` for nothing, for what no person can read, and for a revoke message, which is written over what was there. */
function printable(data: Uint8Array | null): string | null {
  if (data === null || data.length === 0 || isRevokeMessage(data)) return null;
  const text = Buffer.from(data).toString("utf8");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: bytes that no person can read are what is looked for
  return /[\u0000-\u0008\u000e-\u001f\ufffd]/.test(text) ? null : text;
}

/** The client that wrote a node's data, as `identity` made it write. */
export interface NodeIdentity {
  readonly label: string | null;
  readonly host: string | null;
  readonly pid: number | null;
}

/** `null` for data without the text that only our `identity` writes. */
export function readIdentity(data: Uint8Array | null): NodeIdentity | null {
  const text = printable(data);
  const json = text === null ? undefined : addressPattern.exec(text)?.[2];
  return json === undefined ? null : parseIdentity(json);
}

/** `label host:pid` of the JSON that `identity` wrote, or the text itself when another program wrote the JSON. */
function identityLabel(json: string): string {
  const about = parseIdentity(json);
  if (about === null) return json;
  const { label, host, pid } = about;
  const where = host !== null && pid !== null ? `${host}:${pid}` : null;
  const parts = [label, where].filter((part) => part !== null);
  return parts.length > 0 ? parts.join(" ") : json;
}

function parseIdentity(json: string): NodeIdentity | null {
  let about: unknown;
  try {
    about = JSON.parse(json);
  } catch {
    return null;
  }
  if (typeof about !== "object" || about === null) return null;
  const { label, host, pid } = about as Record<string, unknown>;
  return {
    label: typeof label === "string" ? label : null,
    host: typeof host === "string" ? host : null,
    pid: typeof pid === "number" ? pid : null,
  };
}
