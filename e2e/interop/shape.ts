import type { DumpedNode } from "../support/curator/java-peer.js";

const uuid = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/**
 * What two trees must agree on, in order of creation: the names without UUID and number, the node type, the owner and the
 * ACL. `numbers` adds the sequence numbers, for trees that were made by the same steps; `data` adds the bytes.
 */
export function shape(
  dump: readonly DumpedNode[],
  root: string,
  options: { readonly numbers?: boolean; readonly data?: boolean } = {},
): string[] {
  const inOrderOfCreation = dump.toSorted((a, b) => (a.czxid < b.czxid ? -1 : 1));
  const owners = [...new Set(inOrderOfCreation.map((node) => node.ephemeralOwner))];
  return inOrderOfCreation.map((node) => {
    const known = node.path.slice(root.length).replace(uuid, "<uuid>");
    const name = options.numbers === true ? known : known.replace(/\d{10}$/, "<10 digits>");
    const type = node.ephemeralOwner === 0n ? "lasting" : "ephemeral";
    const owner = node.ephemeralOwner === 0n ? "-" : `session ${owners.indexOf(node.ephemeralOwner)}`;
    const data = options.data === true ? ` ${JSON.stringify(Buffer.from(node.data).toString("latin1"))}` : "";
    return `${name} ${type} ${owner} ${node.acl}${data}`;
  });
}

/** The last segment of a path, with a masked UUID. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1).replace(uuid, "<uuid>");
}
