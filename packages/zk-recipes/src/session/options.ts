import type { ConnectionOptions } from "node:tls";
import { InvalidArgumentError, type Millis, type Runtime, UnsupportedError } from "@holdfast/core";
import type { WatcherEvent } from "@holdfast/zk-protocol";
import type { ServerAddress } from "../client/library.js";
import type { RequestMeter } from "./request-sender.js";

/** The options that both an opened and an adopted session have. */
export interface SessionBasics {
  /** How long `whenConnected()` waits at most. Milliseconds, default 10,000. */
  readonly connectTimeoutMs?: Millis | undefined;
  /**
   * Which requests prove the lease. `"sync"` (default): the keep-alive is `sync`, and answered writes count too.
   * `"quorum"`: the keep-alive is an empty `multi`, which a majority commits and which costs one transaction each.
   * `"quorum"` is for sessions that are shorter than the ensemble's syncLimit x tickTime: a leader that was cut off goes
   * on answering `sync` for that long.
   */
  readonly leaseProof?: "sync" | "quorum" | undefined;
  readonly runtime: Runtime;
  readonly meter?: RequestMeter | undefined;
  /** Called for each event of a watch, in the order of the frames, including watches that were made by `addWatch`. */
  readonly onWatchEvent?: ((event: WatcherEvent) => void) | undefined;
}

export interface SessionOptions extends SessionBasics {
  /** See `parseConnectString`. They are tried in random order. */
  readonly servers: readonly ServerAddress[];
  /** The time-out that is asked for. The server keeps it within its own limits, see `ZooKeeperSession.timeoutMs`. */
  readonly sessionTimeoutMs: Millis;
  /** Sent first on every connection. For the scheme `digest`, `auth` is `user:password`. */
  readonly auth?: readonly Credential[] | undefined;
  /** Connects through TLS, with options as for `tls.connect`, such as certificates. */
  readonly tls?: ConnectionOptions | undefined;
  /**
   * About how much of one turn of the event loop may go into bytes from the server. The rest waits in the socket for the
   * next turn. Default: no limit.
   */
  readonly turnMs?: Millis | undefined;
}

export interface Credential {
  readonly scheme: string;
  readonly auth: string | Uint8Array;
}

const maxTimeoutMs = 2 ** 31 - 1;

/** Throws `InvalidArgumentError`, which names the option, or `UnsupportedError` for SASL. */
export function checkSessionOptions(options: SessionOptions): void {
  checkBasics(options);
  if (!Array.isArray(options.servers) || options.servers.length === 0) {
    throw new InvalidArgumentError("servers must name at least one server");
  }
  for (const { host, port } of options.servers) {
    if (typeof host !== "string" || host === "" || !Number.isInteger(port) || port < 1 || port > 65_535) {
      throw new InvalidArgumentError(
        `servers: ${JSON.stringify({ host, port })} needs a host and a port from 1 to 65535`,
      );
    }
  }
  if (!isMillis(options.sessionTimeoutMs, 1)) {
    throw new InvalidArgumentError(
      `sessionTimeoutMs must be a whole number from 1 to 2^31 - 1, not ${String(options.sessionTimeoutMs)}`,
    );
  }
  for (const credential of options.auth ?? []) checkCredential(credential);
}

export function checkBasics(options: SessionBasics): void {
  const { connectTimeoutMs, leaseProof } = options;
  if (connectTimeoutMs !== undefined && !isMillis(connectTimeoutMs, 0)) {
    throw new InvalidArgumentError(
      `connectTimeoutMs must be a whole number from 0 to 2^31 - 1, not ${String(connectTimeoutMs)}`,
    );
  }
  if (leaseProof !== undefined && leaseProof !== "sync" && leaseProof !== "quorum") {
    throw new InvalidArgumentError(
      `leaseProof must be "sync" or "quorum", not ${JSON.stringify(leaseProof)}`,
    );
  }
}

function checkCredential({ scheme, auth }: Credential): void {
  if (typeof scheme !== "string" || scheme === "") {
    throw new InvalidArgumentError('auth: scheme must be a non-empty string such as "digest"');
  }
  if (scheme.toLowerCase() === "sasl" || scheme.toLowerCase() === "kerberos") {
    throw new UnsupportedError(
      `auth: the scheme ${JSON.stringify(scheme)} needs a SASL exchange, which this client does not have: use "digest", or a client certificate through tls`,
      { backend: "zookeeper" },
    );
  }
  if (typeof auth !== "string" && !(auth instanceof Uint8Array)) {
    throw new InvalidArgumentError(
      `auth: the credentials of scheme ${JSON.stringify(scheme)} must be a string or bytes`,
    );
  }
}

function isMillis(value: unknown, least: number): boolean {
  return Number.isInteger(value) && (value as number) >= least && (value as number) <= maxTimeoutMs;
}
