import type { RespEntry } from "./resp-entry.js";

/** Maps the port of a server to the port of its proxy. */
export type PortMap = ReadonlyMap<number, number>;

// The forms of an address in what servers send: `host:port`, `host port` and `host,port=` in texts, the port after the
// host in lists, and fields named `port`, `tls-port`, `master-port` or `master_port`, as text or as a number. With
// these anchors, a slot, an epoch or an offset that looks like a port stays as it is.
const address =
  /(127\.0\.0\.1(?::| |,port=|\r\n\$5\r\n|\r\n:)|\r\n(?:[a-z]+-)?port\r\n(?:\$5\r\n|:)|\nmaster_port:)(\d{5})(?!\d)/g;

const telling: ReadonlySet<string> = new Set([
  "CLUSTER NODES",
  "CLUSTER REPLICAS",
  "CLUSTER SHARDS",
  "CLUSTER SLAVES",
  "CLUSTER SLOTS",
  "INFO",
  "ROLE",
]);

/**
 * Replaces the ports of servers by those of their proxies in what Sentinel and Cluster send to clients: their answers,
 * redirections (MOVED, ASK), and Sentinel's messages. All addresses are on 127.0.0.1 and all our ports have five
 * digits, so nothing changes its length.
 */
export function rewriteAddresses(entry: RespEntry, bytes: Buffer, ports: PortMap): Buffer {
  const tells =
    telling.has(entry.name) ||
    entry.name.startsWith("SENTINEL ") ||
    entry.error === "MOVED" ||
    entry.error === "ASK" ||
    (entry.kind === "push" && /^[+-][a-z-]+$/.test(entry.key ?? ""));
  if (!tells) return bytes;
  const text = bytes.toString("latin1");
  const rewritten = text.replace(address, (whole, before: string, port: string) => {
    const other = ports.get(Number(port));
    return other === undefined ? whole : `${before}${other}`;
  });
  return rewritten === text ? bytes : Buffer.from(rewritten, "latin1");
}
