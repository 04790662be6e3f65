import type { Fault, FaultAction, FaultMatch } from "@holdfast/test-servers";
import type { ErrorName } from "@holdfast/zk-protocol";
import { contenders } from "./support/contenders.js";
import { sessionTimeoutMs, type World } from "./support/world.js";

/** `momentMs` is shorter than any silence that a client takes notice of; `longMs` is longer than its session lasts. */
export const momentMs = 80;
export const longMs: number = sessionTimeoutMs * 1.5;

/** The properties of a request that decide which faults are tried on it. */
export interface RequestShape {
  readonly op: string;
  /** The request is about a queue node of the client's own session. */
  readonly own: boolean;
}

/** One way in which a request, event or handshake goes wrong, and how that ends. */
export interface FaultKind {
  readonly name: string;
  /** Arms the fault for what matches. The fault ends by itself. `paths`: the locks in use. */
  arm(world: World, match: FaultMatch, paths: readonly string[]): Fault;
  /** The errors with which a call may reject because of this fault, even an acquire that would wait for ever. */
  readonly refuses?: readonly string[];
  /** Whether a server could truly give this answer to such a request. Default: to every request. */
  honest?(request: RequestShape): boolean;
}

function plain(name: string, action: FaultAction): FaultKind {
  return { name, arm: (world, match) => world.server.faults.on(match, action) };
}

/** A fault that ends `forMs` after it happened. */
function lasting(name: string, action: FaultAction, forMs: number): FaultKind {
  return {
    name: `${name} for ${forMs} ms`,
    arm(world, match) {
      const fault = world.server.faults.on(match, action);
      void fault.reached().then(() => {
        world.witness.excuseUntil(world.clock.nowMs() + forMs);
        world.after(forMs, () => fault.release());
      });
      return fault;
    },
  };
}

/** The reply comes with the next frame, at the latest with a keep-alive. Until then what it says may be out of date. */
function withheld(name: string): FaultKind {
  return {
    name,
    arm(world, match) {
      const fault = world.server.faults.on(match, { do: "withhold" });
      void fault.reached().then(() => world.witness.excuseUntil(world.clock.nowMs() + sessionTimeoutMs / 2));
      return fault;
    },
  };
}

/** Ends the session by force. No order between the loss and the next grant is promised then. */
function ending(name: string, when: "before" | "applied", silent: boolean): FaultKind {
  return {
    name,
    arm(world, match, paths) {
      const fault = world.server.faults.on(match, { do: "expire", when, silent });
      world.witness.expects(fault, paths, silent);
      return fault;
    },
  };
}

function answering(err: ErrorName, refuses: readonly string[]): FaultKind {
  return { ...plain(`is answered ${err}`, { do: "answer", err }), refuses };
}

/** Answers like a server that is too busy for a moment. It serves when asked again, so no call may fail because of this. */
function passing(err: ErrorName, times: number): FaultKind {
  return {
    name: `is answered ${err} ${times === 1 ? "once" : `${times} times in a row`}`,
    arm: (world, match) => world.server.faults.on({ ...match, times }, { do: "answer", err }),
  };
}

/** A fault that happens right before the request is applied, or right behind its reply. */
function acting(
  name: string,
  when: "before" | "behind",
  call: (world: World, session: bigint, paths: readonly string[]) => void,
  refuses: readonly string[] = [],
): FaultKind {
  return {
    name: `${name} right ${when} it`,
    arm: (world, match, paths) =>
      world.server.faults.on(match, {
        do: "run",
        at: when === "before" ? "prep" : "applied",
        call({ session }) {
          const act = (): void => call(world, session, paths);
          // No server sends an event in front of the answer to the request that set its watch.
          if (when === "before") act();
          else queueMicrotask(act);
        },
      }),
    refuses,
  };
}

function cutOff(world: World, session: bigint, forMs: number): void {
  if (!isConnected(world, session)) return;
  const view = world.server.faults.cutOff(session);
  world.after(forMs, () => view.release());
  world.witness.excuseUntil(world.clock.nowMs() + forMs);
}

function lag(world: World, session: bigint): void {
  if (isConnected(world, session)) world.server.faults.staleReads(session);
}

function isConnected(world: World, session: bigint): boolean {
  return world.server.sessions().some(({ id, connected }) => id === session && connected);
}

function holdEvents(world: World, session: bigint, forMs: number): void {
  if (!isConnected(world, session)) return;
  const hold = world.server.faults.holdEvents(session);
  world.after(forMs, () => hold.release());
  world.witness.excuseUntil(world.clock.nowMs() + forMs);
}

function pause(world: World, forMs: number, clock: "running" | "frozen"): void {
  world.server.pause({ clock });
  world.after(forMs, () => world.server.resume());
  world.witness.excuseUntil(world.clock.nowMs() + forMs);
}

function dropAll(world: World, refuseMs: number): void {
  if (refuseMs > 0) world.server.faults.refuseConnections({ forMs: refuseMs });
  for (const { id } of world.server.sessions()) world.server.dropConnection(id, { reset: true });
}

function deleteOf(world: World, session: bigint, paths: readonly string[]): void {
  for (const path of paths) {
    const node = contenders(world.server, path).find((each) => each.session === session);
    if (node === undefined) continue;
    world.witness.forcedNode(node);
    world.server.operator.delete(node.path);
  }
}

function deleteAll(world: World, paths: readonly string[], order: "front first" | "back first"): void {
  for (const path of paths) {
    const queue = contenders(world.server, path);
    for (const node of order === "front first" ? queue : queue.reverse()) {
      world.witness.forcedNode(node);
      world.server.operator.delete(node.path);
    }
  }
}

/** One end in several draws: the server draws the order of the events of a session's own nodes, and where they break off. */
export const endings: readonly FaultKind[] = [
  ...[1, 2, 3, 4].map((draw) => ending(`finds its session ended (draw ${draw})`, "before", false)),
  ending("finds its session ended without a word", "before", true),
  ending("is applied and its session ended", "applied", false),
  ending("is applied and its session ended without a word", "applied", true),
];

const backend = ["BackendError"];
const evicted = ["EvictedError"];

/** What can happen to a request. */
export const requestFaults: readonly FaultKind[] = [
  plain("is applied and not answered", { do: "no-reply" }),
  plain("is neither applied nor answered", { do: "drop" }),
  lasting("waits unread", { do: "hold", at: "frame" }, momentMs),
  lasting("waits unread", { do: "hold", at: "frame" }, longMs),
  lasting("waits to be applied", { do: "hold", at: "prep" }, momentMs),
  lasting("waits to be applied", { do: "hold", at: "prep" }, longMs),
  lasting("holds up what comes after it", { do: "hold", at: "applied" }, longMs),
  lasting("has its reply delayed", { do: "hold", at: "reply" }, momentMs),
  lasting("has its reply delayed", { do: "hold", at: "reply" }, longMs),
  withheld("has its reply withheld until something else arrives"),
  plain("finds its connection closed", { do: "close", when: "before" }),
  plain("finds its connection reset", { do: "close", when: "before", reset: true }),
  plain("is applied and its connection closed", { do: "close", when: "applied" }),
  plain("is applied and its connection reset", { do: "close", when: "applied", reset: true }),
  plain("has its reply cut in the length", { do: "cut-reply", bytes: 3 }),
  plain("has its reply cut in the header", { do: "cut-reply", bytes: 11 }),
  plain("has its reply cut in the body", { do: "cut-reply", bytes: 22 }),
  plain("has its reply cut, followed by silence", { do: "cut-reply", bytes: 11, next: "stall" }),
  plain("has a reply larger than usual", { do: "grow-reply", bytes: 70_000 }),
  passing("ThrottledOp", 1),
  passing("ThrottledOp", 3),
  passing("OperationTimeout", 1),
  answering("SystemError", backend),
  answering("NoAuth", backend),
  {
    ...answering("NoNode", backend),
    // True if the parents were removed, or if the node ahead has just gone. About a node that exists it would be a lie.
    honest: ({ op, own }) => op.startsWith("create") || (op === "getData" && !own),
  },
  { ...plain("meets a server that does not know it", { do: "unknown-op" }), refuses: ["UnsupportedError"] },
  ...endings,
  acting("its server is cut off from the leader for a moment", "behind", (w, s) => cutOff(w, s, momentMs)),
  acting("its server is cut off from the leader for long", "behind", (w, s) => cutOff(w, s, longMs)),
  acting("its server lags until its next write", "behind", (w, s) => lag(w, s)),
  acting("its events are held for a moment", "before", (w, s) => holdEvents(w, s, momentMs)),
  acting("its events are held for long", "before", (w, s) => holdEvents(w, s, longMs)),
  acting("the server stands still for long", "behind", (w) => pause(w, longMs, "running")),
  acting("the leader changes slowly", "behind", (w) => pause(w, longMs, "frozen")),
  acting("all connections are reset", "before", (w) => dropAll(w, 0)),
  acting("all are cut off for half a session", "behind", (w) => dropAll(w, sessionTimeoutMs / 2)),
  acting("all are cut off for longer than a session", "behind", (w) => dropAll(w, longMs)),
  acting("its queue nodes are deleted by hand", "before", (w, s, p) => deleteOf(w, s, p), evicted),
  acting("its queue nodes are deleted by hand", "behind", (w, s, p) => deleteOf(w, s, p), evicted),
  acting(
    "the whole queue is deleted by hand",
    "before",
    (w, _, p) => deleteAll(w, p, "front first"),
    evicted,
  ),
  acting(
    "the whole queue is deleted by hand",
    "behind",
    (w, _, p) => deleteAll(w, p, "front first"),
    evicted,
  ),
  acting("the queue is deleted from its end", "behind", (w, _, p) => deleteAll(w, p, "back first"), evicted),
];

/** What can happen to an event on its way. */
export const eventFaults: readonly FaultKind[] = [
  lasting("is held", { do: "hold" }, momentMs),
  lasting("is held", { do: "hold" }, longMs),
];

/** What can happen to a handshake. */
export const handshakeFaults: readonly FaultKind[] = [
  plain("is closed without a byte", { do: "close" }),
  plain("moves the session and leaves the old connection readable", { do: "move" }),
  lasting("waits", { do: "hold" }, momentMs),
  lasting("waits", { do: "hold" }, longMs),
  plain("is told that the session is over", { do: "reject" }),
];
