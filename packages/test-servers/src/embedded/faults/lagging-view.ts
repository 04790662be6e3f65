import { isWrite } from "@holdfast/zk-protocol";
import type { Connection } from "../connection.js";
import { Gate } from "../gate.js";
import type { Exchange } from "../stages.js";
import type { State, View } from "../state.js";
import type { Notice, WatchTable } from "../watches.js";

/**
 * A connection to a member that lags: it reads the state as it was when this object was made. Its own `sync` or write
 * makes it catch up. If it is cut off, these requests wait instead, nothing that it sends renews its session, and it is
 * served even after the session has ended.
 */
export class LaggingView {
  /** The connection that reads the old state. */
  readonly connection: Connection;
  /** Whether its own `sync` and writes wait instead of catching up. */
  readonly cutOff: boolean;
  readonly #state: State;
  readonly #view: View;
  readonly #events: Notice[] = [];
  readonly #gate = new Gate();
  readonly #remove: (view: LaggingView) => void;
  #ended = false;

  constructor(state: State, connection: Connection, cutOff: boolean, remove: (view: LaggingView) => void) {
    this.connection = connection;
    this.cutOff = cutOff;
    this.#state = state;
    this.#view = { tree: state.tree.snapshot(), zxid: state.zxid, cutOff };
    this.#remove = remove;
    connection.view = this.#view;
  }

  /** For the server: keeps an event back until the connection has caught up. */
  keep(notice: Notice): void {
    this.#events.push(notice);
  }

  /** The gate that a request has to wait for. A `sync` or write catches up here, unless the connection is cut off. */
  gateFor({ op }: Exchange): Gate | undefined {
    if (op !== "sync" && (op === undefined || !isWrite(op))) return undefined;
    if (this.cutOff) return this.#gate;
    this.release();
    return undefined;
  }

  /**
   * Catches up: sends the missed events first and then lets waiting requests continue. Closes the connection if its
   * session is over.
   */
  release(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#remove(this);
    const { connection } = this;
    connection.view = undefined;
    if (connection.closed) return;
    if (this.#state.sessions.get(connection.sessionId) === undefined) {
      connection.close("drop");
      return;
    }
    for (const notice of [...this.#missed(), ...this.#events]) connection.send(notice.frame);
    this.#gate.open();
  }

  /**
   * The events of watches that were set on the old state although their change had already happened. A watch from before
   * the change has had its event kept. Of a recursive watch, this knows only the change of its own node.
   */
  #missed(): Notice[] {
    const { data, child } = this.#state.watches;
    const told = new Set(this.#events.map(keyOf));
    return [...this.#missedIn(data, "data", told), ...this.#missedIn(child, "child", told)];
  }

  #missedIn(table: WatchTable, kind: "data" | "child", told: Set<string>): Notice[] {
    const missed: Notice[] = [];
    for (const path of [...(table.pathsOf(this.connection) ?? [])]) {
      const type = this.#changeOf(path, kind);
      if (type === undefined) continue;
      const notice = this.#state.watches.notice(type, path, this.#state.zxid);
      if (!table.use(this.connection, notice) || told.has(keyOf(notice))) continue;
      told.add(keyOf(notice));
      missed.push(notice);
    }
    return missed;
  }

  #changeOf(path: string, kind: "data" | "child"): Notice["type"] | undefined {
    const then = this.#view.tree.get(path);
    const now = this.#state.tree.get(path);
    if (then === undefined) return now === undefined ? undefined : "created";
    if (now === undefined || now.czxid !== then.czxid) return "deleted";
    if (kind === "data") return now.mzxid === then.mzxid ? undefined : "data-changed";
    return now.pzxid === then.pzxid ? undefined : "children-changed";
  }
}

function keyOf({ type, path }: Notice): string {
  return `${type} ${path}`;
}
