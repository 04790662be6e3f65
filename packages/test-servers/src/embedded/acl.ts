import { createHash } from "node:crypto";
import { isIP } from "node:net";
import { type Acl, errorCodes, openAcl, type RequestedAcl } from "@holdfast/zk-protocol";

/** One identity of a connection. `auth` adds identities; they end with the connection. */
export interface Identity {
  readonly scheme: "ip" | "digest" | "super";
  readonly id: string;
}

/** The identity of an operator inside the process, who may do everything. */
export const superIdentity: Identity = { scheme: "super", id: "operator" };

export function ipIdentity(address: string): Identity {
  return { scheme: "ip", id: address.replace(/^::ffff:/, "") };
}

/** The identity of `user:password`; the id keeps a hash of both, as stored in ACLs. */
export function digestIdentity(userAndPassword: Uint8Array): Identity {
  const text = Buffer.from(userAndPassword).toString("utf8");
  const hash = createHash("sha1").update(text).digest("base64");
  return { scheme: "digest", id: `${text.split(":")[0] ?? ""}:${hash}` };
}

/** Whether the identities have at least one of the permissions in `bits`, a mask of `Perms`. */
export function allowed(acl: readonly Acl[], bits: number, identities: readonly Identity[]): boolean {
  if (acl === openAcl || acl.length === 0) return true;
  if (identities[0]?.scheme === "super") return true;
  return acl.some((entry) => (entry.perms & bits) !== 0 && names(entry, identities));
}

function names(entry: Acl, identities: readonly Identity[]): boolean {
  if (entry.scheme === "world") return entry.id === "anyone";
  return identities.some((identity) => {
    if (identity.scheme !== entry.scheme) return false;
    return identity.scheme === "ip" ? inNetwork(identity.id, entry.id) : identity.id === entry.id;
  });
}

/**
 * Turns the ACL of a request into the ACL that the node gets, or returns an error code. `auth` stands for the
 * identities of the asking connection; its id is ignored, and kazoo leaves it null. Every other valid scheme answers a
 * null id with MarshallingError.
 */
export function fixAcl(
  acl: readonly RequestedAcl[] | null,
  identities: readonly Identity[],
): readonly Acl[] | number {
  if (acl === null || acl.length === 0) return errorCodes.InvalidACL;
  const first = acl[0] as RequestedAcl;
  if (acl.length === 1 && first.perms === 31 && first.scheme === "world" && first.id === "anyone") {
    return openAcl; // nearly every node has this ACL: all of them share one object
  }
  const fixed = new Map<string, Acl>();
  for (const { perms, scheme, id } of acl) {
    if (scheme === "auth") {
      const digests = identities.filter((identity) => identity.scheme === "digest");
      if (digests.length === 0) return errorCodes.InvalidACL;
      for (const digest of digests) fixed.set(`${perms} digest ${digest.id}`, { perms, ...digest });
      continue;
    }
    const valid = scheme === null ? undefined : validIds.get(scheme);
    if (scheme === null || valid === undefined) return errorCodes.InvalidACL;
    if (id === null) return errorCodes.MarshallingError;
    if (!valid(id)) return errorCodes.InvalidACL;
    fixed.set(`${perms} ${scheme} ${id}`, { perms, scheme, id });
  }
  return [...fixed.values()];
}

const validIds: ReadonlyMap<string, (id: string) => boolean> = new Map([
  ["world", (id) => id === "anyone"],
  ["digest", (id) => id.split(":").length === 2],
  ["ip", (id) => parseNetwork(id) !== undefined],
]);

/** The ACL as a client without ADMIN sees it: it shows the users, but not the hashes of their passwords. */
export function maskAcl(acl: readonly Acl[]): readonly Acl[] {
  return acl.map((entry) =>
    entry.scheme === "digest" ? { ...entry, id: `${entry.id.split(":")[0] ?? ""}:x` } : entry,
  );
}

function inNetwork(address: string, network: string): boolean {
  const parsed = parseNetwork(network);
  const bytes = addressBytes(address);
  if (parsed === undefined || bytes === undefined || parsed.bytes.length !== bytes.length) return false;
  for (let bit = 0; bit < parsed.bits; bit++) {
    const mask = 0x80 >> (bit & 7);
    if (((parsed.bytes[bit >> 3] ?? 0) & mask) !== ((bytes[bit >> 3] ?? 0) & mask)) return false;
  }
  return true;
}

function parseNetwork(network: string): { bytes: number[]; bits: number } | undefined {
  const [address = "", suffix, ...rest] = network.split("/");
  const bytes = addressBytes(address);
  if (bytes === undefined || rest.length > 0) return undefined;
  const most = bytes.length * 8;
  const bits = suffix === undefined ? most : Number(suffix);
  return /^\d+$/.test(suffix ?? "0") && bits <= most ? { bytes, bits } : undefined;
}

function addressBytes(address: string): number[] | undefined {
  if (isIP(address) === 4) return address.split(".").map(Number);
  if (isIP(address) !== 6 || address.includes(".")) return undefined;
  const [head = "", tail] = address.split("::");
  const left = head === "" ? [] : head.split(":");
  const right = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = Array<string>(8 - left.length - right.length).fill("0");
  return [...left, ...zeros, ...right].flatMap((group) => {
    const word = Number.parseInt(group, 16);
    return [word >> 8, word & 0xff];
  });
}
