import { connect } from "node:net";
import { UnreachableError } from "../errors.js";

/** Which server is asked, and for how long. */
export interface FourLetterOptions {
  /** Default 127.0.0.1. */
  host?: string;
  /** The client port of the server. */
  port: number;
  /** Limit in milliseconds for the whole answer; default 1,000. */
  timeoutMs?: number;
}

/**
 * Sends one of ZooKeeper's four-letter words and returns the text of the answer.
 *
 * A word that is not on the server's whitelist is answered with a sentence that says so.
 * @throws UnreachableError whose `reason` distinguishes a dead server (refused), a stopped one (timeout) and one that is
 * starting or stopping (closed without a byte).
 */
export function fourLetterWord(word: string, options: FourLetterOptions): Promise<string> {
  const host = options.host ?? "127.0.0.1";
  const timeoutMs = options.timeoutMs ?? 1_000;
  const where = `${word} at ${host}:${options.port}`;
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = connect({ host, port: options.port });
    const timer = setTimeout(() => {
      fail(new UnreachableError(`no answer to ${where} within ${timeoutMs} ms`, "timeout"));
    }, timeoutMs);
    function fail(error: Error): void {
      clearTimeout(timer);
      socket.destroy();
      reject(error);
    }
    socket.on("connect", () => socket.write(word));
    socket.on("data", (chunk) => chunks.push(chunk));
    socket.on("error", (cause: NodeJS.ErrnoException) => {
      const reason = cause.code === "ECONNREFUSED" ? "refused" : "closed";
      fail(new UnreachableError(`${where}: ${cause.message}`, reason, { cause }));
    });
    socket.on("close", () => {
      clearTimeout(timer);
      if (chunks.length > 0) resolve(Buffer.concat(chunks).toString("utf8"));
      else reject(new UnreachableError(`${where}: closed without an answer`, "closed"));
    });
  });
}

/** The mode that a server reports. */
export type ServerMode = "standalone" | "leader" | "follower" | "observer";

/** The fields of the answer to `srvr` that tests need. */
export interface Srvr {
  /** Such as `3.8.0`. */
  version: string;
  /** The mode that it reports. */
  mode: ServerMode;
  /** The last transaction that this server has applied. */
  zxid: bigint;
  /** Open client connections, including the one of this question. */
  connections: number;
  /** Requests that wait to be served. */
  outstanding: number;
  /** Nodes in its tree. */
  nodeCount: number;
  /** The whole answer. */
  text: string;
}

/**
 * Asks for `srvr` and parses the answer. A server without a quorum answers that it serves no clients. That is an
 * UnreachableError with the reason "closed", like a server that has not come up yet.
 */
export async function srvr(options: FourLetterOptions): Promise<Srvr> {
  const text = await fourLetterWord("srvr", options);
  const field = (name: string): string => new RegExp(`^${name}: (.*)$`, "m").exec(text)?.[1]?.trim() ?? "";
  const mode = field("Mode");
  if (mode === "") {
    throw new UnreachableError(`srvr at port ${options.port}: ${text.trim()}`, "closed");
  }
  return {
    version: field("Zookeeper version").split("-")[0] ?? "",
    mode: mode as ServerMode,
    zxid: BigInt(field("Zxid")),
    connections: Number(field("Connections")),
    outstanding: Number(field("Outstanding")),
    nodeCount: Number(field("Node count")),
    text,
  };
}
