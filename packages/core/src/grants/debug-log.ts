import { debuglog } from "node:util";
import type { LockEventBase } from "../api/events.js";
import type { Owner } from "../api/values.js";
import type { GrantBooks } from "./hold-record.js";
import { holderOf } from "./holder-of.js";

const log = debuglog("holdfast");

/** What a line is about. */
type Subject = Pick<LockEventBase, "kind" | "name" | "owner">;

/**
 * Called when the backend has answered that a request has to wait. Asks the backend who holds the lock, which is one more
 * request for each wait.
 */
export type WaitLog = (specs: readonly Subject[], wait: object) => void;

/**
 * Writes to stderr what happens to the locks of one provider: one line for each acquire, wait, grant, release and loss. The
 * engine reports waits to the returned function. `null` unless the process was started with `NODE_DEBUG=holdfast`.
 */
export function debugLogOf(engine: GrantBooks): WaitLog | null {
  if (!log.enabled) return null;
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
  events.on("lost", (event) => say("lost", event, ` after ${Math.round(event.heldMs)} ms: ${event.reason}`));
  events.on("released", (event) => say(event.outcome, event, ` after ${Math.round(event.heldMs)} ms`));
  return (specs, wait) => {
    for (const spec of specs) {
      say("waits", spec, "");
      const own = [...engine.holds].find((hold) => hold.name === spec.name && hold.open.length > 0);
      void holderOf(engine, spec, own).then((holder) => {
        if (engine.waiting.has(wait)) say("waits", spec, `: ${holder}`);
      });
    }
  };
}

function say(what: string, { kind, name, owner }: Subject, how: string): void {
  log('%s: %s "%s", owner %s%s', what, kind, name, shown(owner), how);
}

function shown({ id, label }: Owner): string {
  return label === undefined ? id : `${label} (${id})`;
}
