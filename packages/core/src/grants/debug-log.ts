import { debuglog } from "node:util";
import type { LockEventBase } from "../api/events.js";
import type { Owner } from "../api/values.js";
import type { EventHub } from "../events/event-hub.js";
import type { HoldRecord } from "./hold-record.js";
import { type Books, holderOf } from "./holder-of.js";

const log = debuglog("holdfast");

/** What it needs of the engine that it reports of. */
interface DebuggedEngine extends Books {
  readonly events: EventHub;
  readonly holds: ReadonlySet<HoldRecord>;
  readonly waiting: ReadonlySet<object>;
}

/** What a line is about. */
type Subject = Pick<LockEventBase, "kind" | "name" | "owner">;

/** `null` unless the process was started with `NODE_DEBUG=holdfast`. */
export function debugLogOf(engine: DebuggedEngine): DebugLog | null {
  return log.enabled ? new DebugLog(engine) : null;
}

/** Writes to stderr what happens to the locks of one provider: one line for each acquire, wait, grant, release and loss. */
export class DebugLog {
  readonly #engine: DebuggedEngine;

  constructor(engine: DebuggedEngine) {
    this.#engine = engine;
    const { events } = engine;
    events.on("acquire-started", (event) => say("acquire", event, ""));
    events.on("acquire-settled", (event) => {
      const { outcome, waitedMs, token, error } = event;
      const why = error instanceof Error ? `: ${error.message}` : "";
      const how = outcome === "granted" ? `, token ${token}` : why;
      say(outcome, event, ` after ${Math.round(waitedMs)} ms${how}`);
    });
    events.on("uncertain", (event) =>
      say("uncertain", event, `, good for ${Math.round(event.remainingMs)} ms`),
    );
    events.on("recovered", (event) => say("recovered", event, ""));
    events.on("lost", (event) =>
      say("lost", event, ` after ${Math.round(event.heldMs)} ms: ${event.reason}`),
    );
    events.on("released", (event) => say(event.outcome, event, ` after ${Math.round(event.heldMs)} ms`));
  }

  /** The backend has answered that the request has to wait. Asks it who holds the lock, which is one request more for each wait. */
  waits(specs: readonly Subject[], wait: object): void {
    const engine = this.#engine;
    for (const spec of specs) {
      say("waits", spec, "");
      const { kind, name } = spec;
      const own = [...engine.holds].find((hold) => hold.name === name && hold.open.length > 0);
      void holderOf(engine, { kind, name }, own).then((holder) => {
        if (engine.waiting.has(wait)) say("waits", spec, `: ${holder}`);
      });
    }
  }
}

function say(what: string, { kind, name, owner }: Subject, how: string): void {
  log('%s: %s "%s", owner %s%s', what, kind, name, shown(owner), how);
}

function shown({ id, label }: Owner): string {
  return label === undefined ? id : `${label} (${id})`;
}
