import { formatSessionId, opCodes } from "@holdfast/zk-protocol";
import type { Connection } from "./connection.js";
import type { State } from "./state.js";
import type { Watcher, WatchTable } from "./watches.js";

/** The data from which the words are answered. */
export interface WordSource {
  readonly state: State;
  readonly port: number;
  readonly connections: Iterable<Connection>;
  readonly startedAtMs: number;
}

const listed: { readonly [word: string]: (source: WordSource) => string } = {
  ruok: () => "imok",
  srvr: (source) => `${versionLine(source)}${serverLines(source)}`,
  stat: (source) => {
    const clients = [...source.connections].map((connection) => ` ${shortLine(connection)}\n`).join("");
    return `${versionLine(source)}Clients:\n${clients}\n${serverLines(source)}`;
  },
  cons: (source) => {
    const lines = [...source.connections].map((connection) => ` ${longLine(source.state, connection)}\n`);
    return `${lines.join("")}\n`;
  },
  dump,
  mntr,
  wchs: ({ state }) => {
    const { watcherCount, pathCount, count } = state.watches.data;
    return `${watcherCount} connections watching ${pathCount} paths\nTotal watches:${count}\n`;
  },
  wchp: ({ state }) => {
    const lines = [...state.watches.data.paths()].map(
      ([path, watchers]) =>
        `${path}\n${[...watchers.keys()].map((watcher) => `\t${owner(watcher)}\n`).join("")}`,
    );
    return `${lines.join("")}\n`;
  },
  wchc: ({ state }) => `${bySession(state.watches.data)}\n`,
  isro: () => "rw",
  envi: ({ state }) => `Environment:\nzookeeper.version=${versionOf(state)}\nhost.name=127.0.0.1\n`,
  conf: ({ state, port }) =>
    [
      `clientPort=${port}`,
      "secureClientPort=-1",
      `tickTime=${state.tickMs}`,
      "maxClientCnxns=0",
      `minSessionTimeout=${state.sessions.negotiate(0)}`,
      `maxSessionTimeout=${state.sessions.negotiate(2_147_483_647)}`,
      "clientPortListenBacklog=-1",
      "serverId=1",
      "",
    ].join("\n"),
};

/** Words of real servers that the embedded one does not support. They are refused like any word off the whitelist. */
const others: ReadonlySet<string> = new Set(["crst", "dirs", "gtmk", "hash", "orst", "srst", "stmk"]);

/** Every word that can be put on the whitelist. */
export const knownWords: readonly string[] = Object.keys(listed);

/** The answer to the word, or undefined if it is no four-letter word. */
export function answerWord(
  word: string,
  allowed: ReadonlySet<string>,
  source: WordSource,
): string | undefined {
  const answer = Object.hasOwn(listed, word) ? listed[word] : undefined;
  if (answer === undefined && !others.has(word)) return undefined;
  if (answer === undefined || !allowed.has(word)) {
    return `${word} is not executed because it is not in the whitelist.\n`;
  }
  return answer(source);
}

function versionLine({ state }: WordSource): string {
  return `Zookeeper version: ${versionOf(state)}\n`;
}

/**
 * Clients that ask for the release look for the comma, and some parse the date. The embedded server has no build date.
 */
function versionOf({ behaviour }: State): string {
  return `${behaviour.version}-holdfast-embedded, built on 1970-01-01 00:00 UTC`;
}

function serverLines(source: WordSource): string {
  const { state } = source;
  const connections = [...source.connections];
  const { received, sent } = packets(connections);
  return [
    "Latency min/avg/max: 0/0.0/0",
    `Received: ${received}`,
    `Sent: ${sent}`,
    `Connections: ${connections.length}`,
    "Outstanding: 0",
    `Zxid: 0x${state.zxid.toString(16)}`,
    "Mode: standalone",
    `Node count: ${state.tree.nodeCount}`,
    "",
  ].join("\n");
}

function packets(connections: readonly Connection[]): { received: number; sent: number } {
  let received = 0;
  let sent = 0;
  for (const connection of connections) {
    received += connection.received;
    sent += connection.sent;
  }
  return { received, sent };
}

function counters(connection: Connection): string {
  const { outbox, received, sent } = connection;
  return `queued=${outbox.queued},recved=${received},sent=${sent}`;
}

function shortLine(connection: Connection): string {
  return `/${connection.peer}[1](${counters(connection)})`;
}

/** The names of operations as `cons` prints them, where they differ from those of the protocol. */
const shortNames: { readonly [op: string]: string } = {
  create: "CREA",
  create2: "CRE2",
  createContainer: "CREC",
  createTTL: "CRET",
  delete: "DELE",
  exists: "EXIS",
  getData: "GETD",
  setData: "SETD",
  getACL: "GETA",
  setACL: "SETA",
  getChildren: "GETC",
  getChildren2: "GETC",
  sync: "SYNC",
  ping: "PING",
  multi: "MULT",
  closeSession: "CLOS",
};

function longLine(state: State, connection: Connection): string {
  const session = state.sessions.get(connection.sessionId);
  if (session === undefined) return shortLine(connection);
  const estMs = Math.floor(state.clock.wallMs() - (state.clock.nowMs() - connection.openedAtMs));
  const fields = [
    counters(connection),
    `sid=${formatSessionId(session.id)}`,
    `lop=${shortNames[connection.lastOp] ?? (Object.hasOwn(opCodes, connection.lastOp) ? connection.lastOp : "NA")}`,
    `est=${estMs}`,
    `to=${session.timeoutMs}`,
    `lcxid=0x${(connection.lastXid >>> 0).toString(16)}`,
    `lzxid=0x${BigInt.asUintN(64, connection.lastZxid).toString(16)}`,
    `lresp=${Math.floor(state.clock.nowMs())}`,
    "llat=0,minlat=0,avglat=0,maxlat=0",
  ];
  return `/${connection.peer}[1](${fields.join(",")})`;
}

function dump({ state, connections }: WordSource): string {
  const deadlines = state.sessions.deadlines().sort(([a], [b]) => a - b);
  const offsetMs = state.clock.wallMs() - state.clock.nowMs();
  const expiries = deadlines.map(
    ([atMs, sessions]) =>
      `${sessions.length} expire at ${new Date(Math.floor(atMs + offsetMs)).toUTCString()}:\n` +
      sessions.map(({ id }) => `\t${formatSessionId(id)}\n`).join(""),
  );
  const ephemerals = [...state.tree.ephemeralSessions()].map(
    ([id, paths]) => `${formatSessionId(id)}:\n${[...paths].map((path) => `\t${path}\n`).join("")}`,
  );
  const clients = [...connections].map((connection) => `\t${shortLine(connection)}\n`);
  return [
    `SessionTracker dump:\nSession Sets (${deadlines.length})/(${state.sessions.size}):\n`,
    ...expiries,
    `ephemeral nodes dump:\nSessions with Ephemerals (${ephemerals.length}):\n`,
    ...ephemerals,
    `Connections dump:\nConnections (${clients.length}):\n`,
    ...clients,
  ].join("");
}

function mntr(source: WordSource): string {
  const { state } = source;
  const connections = [...source.connections];
  const { received, sent } = packets(connections);
  const values: [string, string | number][] = [
    ["version", `${state.behaviour.version}-holdfast-embedded`],
    ["server_state", "standalone"],
    ["uptime", Math.floor(state.clock.nowMs() - source.startedAtMs)],
    ["avg_latency", "0.0"],
    ["min_latency", 0],
    ["max_latency", 0],
    ["packets_received", received],
    ["packets_sent", sent],
    ["num_alive_connections", connections.length],
    ["outstanding_requests", 0],
    ["znode_count", state.tree.nodeCount],
    ["watch_count", state.watches.data.count + state.watches.child.count],
    ["ephemerals_count", state.tree.ephemeralCount],
    ["approximate_data_size", dataBytes(state)],
    ["global_sessions", state.sessions.size],
    ["stale_sessions_expired", state.sessions.expired],
  ];
  return values.map(([name, value]) => `zk_${name}\t${value}\n`).join("");
}

function dataBytes(state: State): number {
  let bytes = 0;
  for (const node of state.tree.nodes()) bytes += node.path.length + (node.data?.length ?? 0);
  return bytes;
}

function bySession(table: WatchTable): string {
  const watchers = new Set<Watcher>();
  for (const [, own] of table.paths()) for (const watcher of own.keys()) watchers.add(watcher);
  return [...watchers]
    .map((watcher) => {
      const paths = [...(table.pathsOf(watcher) ?? [])];
      return `${owner(watcher)}\n${paths.map((path) => `\t${path}\n`).join("")}`;
    })
    .join("");
}

function owner(watcher: Watcher): string {
  return formatSessionId(watcher.sessionId);
}
