/**
 * Names in Curator's protection mode: `_c_<uuid>-<base><sequence>`. The uuid lets a client find the node it made
 * when the answer to its create was lost (`CreateBuilder.withProtection`, `ProtectedUtils`).
 */
const protectedPattern = /^_c_([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})-(.+)$/;

export interface ProtectedName {
  readonly guid: string;
  /** What stands behind the protection: base name and sequence. */
  readonly rest: string;
}

/** What every node name of one attempt starts with. */
export function protectionPrefix(guid: string): string {
  return `_c_${guid}-`;
}

export function parseProtectedName(name: string): ProtectedName | null {
  const match = protectedPattern.exec(name);
  return match === null ? null : { guid: match[1] as string, rest: match[2] as string };
}
