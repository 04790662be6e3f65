import { hostname, networkInterfaces } from "node:os";
import { InvalidArgumentError } from "@holdfast/core";

/** The data that Curator's `Revoker` writes into a holder's node to ask for the lock. */
export const revokeMessage: Uint8Array = Buffer.from("__REVOKE__", "ascii");

export function isRevokeMessage(data: Uint8Array | null): boolean {
  return data !== null && Buffer.compare(data, revokeMessage) === 0;
}

let ownAddress: string | undefined;

/** This host's address as text, as in Curator's default data: the first IPv4 address that is not loopback, else 127.0.0.1. */
function localAddress(): string {
  ownAddress ??=
    Object.values(networkInterfaces())
      .flat()
      .find((candidate) => candidate?.family === "IPv4" && !candidate.internal)?.address ?? "127.0.0.1";
  return ownAddress;
}

/**
 * Data of our queue nodes: exactly Curator's default, the address. With `identity` a JSON text follows, which shows
 * operators which client made the node.
 */
export function nodeData(identity: boolean, label: string | null): Uint8Array {
  const address = localAddress();
  if (!identity) return Buffer.from(address, "utf8");
  const about = { ...(label === null ? {} : { label }), host: hostname(), pid: process.pid };
  return Buffer.from(`${address} ${JSON.stringify(about)}`, "utf8");
}

/** The two Curator recipes for elections. Both are one queue, with different names and data. */
export type ElectionLayout = "latch" | "selector";

/**
 * Data of a candidate. A label is written as it is, also with `identity`: Curator shows the whole data as the id of the
 * participant. Without a label a `LeaderLatch` has no bytes and a `LeaderSelector` has Curator's default, unless
 * `identity` is set. Throws `InvalidArgumentError` for the one label that would be read as a request to resign.
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
  /** The data has the text that only our `identity` writes. */
  readonly identified: boolean;
}

const nothing: NodeDataView = { address: null, label: null, identified: false };
const addressPattern = /^(\d{1,3}(?:\.\d{1,3}){3}|[0-9a-fA-F:]*:[0-9a-fA-F:.]+)(?: (\{.*\}))?$/s;

/** What a node's data says to a person. No decision may depend on it. */
export function readNodeData(data: Uint8Array | null): NodeDataView {
  const text = printable(data);
  if (text === null) return nothing;
  const match = addressPattern.exec(text);
  if (match === null) return { address: null, label: text, identified: false };
  const label = match[2] === undefined ? null : identityLabel(match[2]);
  return { address: match[1] as string, label, identified: label !== null };
}

/**
 * Like `readNodeData`, for a candidate. The data of a latch is an id even if it looks like an address. The data of a
 * selector with only an address is Curator's default.
 */
export function readCandidateData(layout: ElectionLayout, data: Uint8Array | null): NodeDataView {
  const view = readNodeData(data);
  if (layout === "selector" || view.address === null || view.label !== null) return view;
  return { address: null, label: view.address, identified: false };
}

/**
 * The data as text. `null` for no data, for bytes that no person can read, and for a revoke message, which has replaced
 * the earlier data.
 */
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

/** The identity in a node's data. `null` for data without the text that only our `identity` writes. */
export function readIdentity(data: Uint8Array | null): NodeIdentity | null {
  const text = printable(data);
  const json = text === null ? undefined : addressPattern.exec(text)?.[2];
  return json === undefined ? null : parseIdentity(json);
}

/** `label host:pid` from the JSON that `identity` wrote; the JSON text itself if another program wrote it. */
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
