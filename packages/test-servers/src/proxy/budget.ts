import type { OpName } from "@holdfast/zk-protocol";
import { Flights } from "./flights.js";
import type { TraceEntry } from "./trace.js";

/** What a proxy has counted since it was started or reset. */
export interface Counts {
  /** Requests, without handshakes and without ignored ones. */
  requests: number;
  /**
   * Flights of all connections together. A request opens a new flight if no counted request of its connection is
   * outstanding. It also does so if an answer has been passed on since the connection's last flight was opened, because
   * it may depend on that answer. All other requests belong to the flight that is open. So the number is never less
   * than the number of round trips that the client waited for. It is more when a client goes on sending independent
   * requests while answers come in.
   */
  flights: number;
  /** Watch events that came from the server. */
  events: number;
  /** Requests by operation: all that were seen, including handshakes (`connect`) and ignored ones. */
  byOp: Readonly<Record<string, number>>;
}

/** The requests that do not count in a budget: names of operations, or a function that decides. */
export type Ignored = readonly OpName[] | ((entry: TraceEntry) => boolean);

/** Counts requests and flights. */
export class Budget {
  #ignore: (entry: TraceEntry) => boolean;
  #flights = new Flights<TraceEntry>();
  #events = 0;
  #byOp: Record<string, number> = {};

  constructor(ignore: Ignored) {
    this.#ignore = toPredicate(ignore);
  }

  seen(entry: TraceEntry): void {
    if (entry.kind === "event") this.#events++;
    if (entry.kind !== "request") return;
    this.#byOp[entry.op] = (this.#byOp[entry.op] ?? 0) + 1;
    if (entry.op !== "connect" && !this.#ignore(entry)) this.#flights.left(entry);
  }

  /** An answer was passed on to the client. */
  answered(request: TraceEntry): void {
    this.#flights.answered(request);
  }

  get counts(): Counts {
    const { requests, flights } = this.#flights;
    return { requests, flights, events: this.#events, byOp: { ...this.#byOp } };
  }

  /** Starts again at zero. Requests without an answer yet are forgotten: their answers open no flight. */
  reset(ignore?: Ignored): void {
    if (ignore !== undefined) this.#ignore = toPredicate(ignore);
    this.#flights = new Flights();
    this.#events = 0;
    this.#byOp = {};
  }
}

function toPredicate(ignore: Ignored): (entry: TraceEntry) => boolean {
  if (typeof ignore === "function") return ignore;
  const names = new Set<string>(ignore);
  return (entry) => names.has(entry.op);
}
