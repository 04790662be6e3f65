import { closeSync, openSync, readSync, statSync } from "node:fs";
import type { ServerLog, ServerSet } from "./topologies/server-set.js";

/**
 * What a member of an ensemble logs if it had nodes of a session that its leader had deleted. This was seen with 3.8.0
 * after a member had caught up with its leader by a DIFF (see ZOOKEEPER-4394 and ZOOKEEPER-4785). Such a member shows
 * its clients a queue that no other member has, until their sessions are over.
 * The opposite, "Ignoring NoNodeException ... while removing ephemeral for dead session", is no sign: a server that
 * reads its own log behind a snapshot taken meanwhile also writes it.
 */
const sign = /Unexpected extra paths under session/;

/**
 * Searches what the servers log from now on for signs that they are not in order among themselves. A client that is
 * convicted then may not be at fault.
 */
export class ServerDisorder {
  readonly #logs: readonly { readonly log: ServerLog; readonly from: number }[];

  constructor(set: Pick<ServerSet, "topology" | "logs">) {
    const several = set.topology.kind === "zookeeper" && set.topology.members > 1;
    this.#logs = several ? set.logs().map((log) => ({ log, from: sizeOf(log.path) })) : [];
  }

  /** A line for each server that logged such a sign. */
  seen(): string[] {
    return this.#logs.flatMap(({ log, from }) => {
      const line = textFrom(log.path, from)
        .split("\n")
        .find((each) => sign.test(each));
      return line === undefined
        ? []
        : [`${log.name} and its leader are at odds: ${line.trim().slice(0, 300)}`];
    });
  }
}

function sizeOf(path: string): number {
  try {
    return statSync(path).size;
  } catch {
    // The server has written nothing yet.
    return 0;
  }
}

function textFrom(path: string, from: number): string {
  const size = sizeOf(path);
  if (size <= from) return "";
  const file = openSync(path, "r");
  try {
    const bytes = Buffer.alloc(size - from);
    return bytes.toString("utf8", 0, readSync(file, bytes, 0, bytes.length, from));
  } finally {
    closeSync(file);
  }
}
