import type { Connection } from "../connection.js";
import { Gate } from "../gate.js";
import type { Exchange } from "../stages.js";
import type { Notice } from "../watches.js";
import { pathsOf } from "./match.js";

/** Keeps back the events of one connection. */
export class EventHold {
  /** The connection whose events are kept back. */
  readonly connection: Connection;
  /** The events that were kept back so far. */
  readonly events: Notice[] = [];
  readonly #violateOrder: boolean;
  readonly #remove: (hold: EventHold) => void;
  #gate: Gate | undefined;

  constructor(connection: Connection, violateOrder: boolean, remove: (hold: EventHold) => void) {
    this.connection = connection;
    this.#violateOrder = violateOrder;
    this.#remove = remove;
  }

  /** For the server: keeps one more event back. */
  keep(notice: Notice): void {
    this.events.push(notice);
  }

  /** The gate that a reply has to wait for; undefined if the reply may overtake the events. */
  gateFor(exchange: Exchange): Gate | undefined {
    if (this.#violateOrder || this.events.length === 0) return undefined;
    const paths = pathsOf(exchange);
    if (!this.events.some((event) => paths.some((path) => shows(path, event)))) return undefined;
    this.#gate ??= new Gate();
    return this.#gate;
  }

  /**
   * Sends the events that were kept back, in the order given (default: as they came), and then the replies that waited.
   */
  release(order: (events: Notice[]) => Notice[] = (events) => events): void {
    this.#remove(this);
    const frames = order([...this.events]).map(({ frame }) => frame);
    this.events.length = 0;
    if (this.connection.closed) return;
    const gate = this.#gate;
    if (gate === undefined) {
      for (const frame of frames) this.connection.send(frame);
    } else {
      this.connection.outbox.insertAt(gate, frames);
      gate.open();
    }
  }
}

/** Whether an answer about `path` can show the change that the event reports. */
function shows(path: string, event: Notice): boolean {
  return (
    path === event.path || event.path.slice(0, event.path.lastIndexOf("/")) === (path === "/" ? "" : path)
  );
}
