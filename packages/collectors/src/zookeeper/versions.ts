import { createHash } from "node:crypto";
import { parseProtectedName } from "@holdfast/zk-recipes/internal";
import { tokenText } from "./participants.js";

const longest = 200;
const kazooName = /^[0-9a-f]{32}/;

/**
 * The version that an action compares: the names of the holders. A name with an id of its own never comes again. A bare name
 * can come again once its parent was made anew, so there the czxid of the node counts too (`?` until it was read).
 */
export function heldVersion(
  holders: readonly { readonly name: string; readonly token: bigint | null }[],
): string {
  const text = holders
    .map(({ name, token }) => (isUnique(name) ? name : `${name}@${token === null ? "?" : tokenText(token)}`))
    .sort()
    .join(",");
  if (text.length <= longest) return text;
  return (isVague(text) ? "?" : "") + createHash("sha256").update(text).digest("base64url");
}

/** The version of a lock without a holder. `cversion` counts the comings and goings of its children; `null` until it was read. */
export function idleVersion(cversion: number | null): string {
  return `idle:${cversion ?? "?"}`;
}

/** Whether the operator decided before everything that must be compared had been read. */
export function isVague(version: string): boolean {
  return version.includes("?");
}

function isUnique(name: string): boolean {
  return parseProtectedName(name) !== null || kazooName.test(name);
}
