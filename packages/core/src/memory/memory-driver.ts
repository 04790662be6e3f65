import type { Capabilities, PrimitiveKind } from "../api/capabilities.js";
import type { Attempt, AttemptListener, Grant, GrantRequest, LockDriver } from "../api/driver.js";
import { BackendError, UnsupportedError } from "../api/errors.js";
import type { InspectOptions, LockSnapshot } from "../api/inspect.js";
import type { Runtime } from "../api/runtime.js";
import { inSlices } from "../clock/slices.js";
import type { MemoryLink } from "./memory-link.js";
import { MemoryPlace, type MemoryRequest, type MemoryWorld } from "./memory-place.js";
import { memorySnapshot } from "./memory-snapshot.js";
import type { MemorySpace } from "./memory-space.js";

const kinds: readonly PrimitiveKind[] = [
  "mutex",
  "reentrant-mutex",
  "read-write-lock",
  "reentrant-read-write-lock",
  "semaphore",
  "leader-election",
  "count-down-latch",
  "barrier",
  "double-barrier",
  "record",
];

/**
 * Makes all grants in memory; `MemoryProvider` has the primitives that are not grants. There is one layout for each kind, so
 * the `variant` of a request makes no difference.
 */
export class MemoryDriver implements LockDriver {
  readonly capabilities: Capabilities = {
    backend: "memory",
    lease: "process",
    fencing: "best-effort",
    fairness: "fifo",
    push: true,
    primitives: new Set(kinds),
  };

  readonly keeps = true;
  readonly closeReleasesAll = true;

  readonly #world: MemoryWorld;

  constructor(space: MemorySpace, link: MemoryLink, runtime: Runtime) {
    const places = new Set<MemoryPlace>();
    this.#world = { space, link, runtime, places };
    link.listen({
      contact: (change) => {
        for (const place of [...places]) place.contact(change);
      },
      sessionEnds: () => {
        const ended = [...places];
        return () => void this.#endAll(ended, (place) => place.sessionEnded());
      },
    });
  }

  attempt([asked]: readonly [GrantRequest, ...GrantRequest[]], listener: AttemptListener): Attempt {
    const { space } = this.#world;
    const { name } = asked;
    this.#checkConnected(name);
    const request = numbered(asked);
    const conflict = space.conflict(name, request);
    if (conflict !== undefined) throw conflict;
    if (!request.mayWait) space.want(name);
    if (request.mayWait || space.admits(name, request))
      return new MemoryPlace(this.#world, request, listener);
    let withdrawn = false;
    queueMicrotask(() => !withdrawn && listener.unavailable());
    return {
      async withdraw() {
        withdrawn = true;
      },
    };
  }

  attemptBeside(
    write: Grant,
    read: Pick<GrantRequest, "label" | "revocable">,
    listener: AttemptListener,
  ): Attempt {
    const place = write as MemoryPlace;
    this.#checkConnected(place.name);
    return place.readBeside(read, listener);
  }

  #checkConnected(lockName: string): void {
    if (this.#world.link.state === "connected") return;
    throw new BackendError("memory: not connected", { lockName, backend: "memory" });
  }

  announce(grant: Grant, label: string): Promise<void> {
    return (grant as MemoryPlace).announce(label);
  }

  watch(_kind: PrimitiveKind, name: string, changed: () => void): () => void {
    return this.#world.space.watch(name, changed);
  }

  async requestRevoke(_kind: PrimitiveKind, name: string): Promise<boolean> {
    const held = this.#world.space.queue(name).filter((entry) => entry.token !== null);
    for (const entry of held) entry.revokeAsked();
    return held.length > 0;
  }

  async inspect(_kind: PrimitiveKind, name: string, options: InspectOptions): Promise<LockSnapshot> {
    const { space, runtime } = this.#world;
    return memorySnapshot(name, space.queue(name), runtime, options);
  }

  async close(): Promise<void> {
    this.#world.link.close();
    await this.#endAll([...this.#world.places], (place) => place.drop());
  }

  /** Ends all places as a server ends a session: all of them are gone before any waiter is granted. */
  #endAll(ended: readonly MemoryPlace[], end: (place: MemoryPlace) => void): Promise<void> {
    const { space, runtime } = this.#world;
    return new Promise((resolve) => {
      const serve = (): void => inSlices(runtime, ended, ({ name }) => space.serve(name), resolve);
      inSlices(runtime, ended, end, serve);
    });
  }
}

function numbered(request: GrantRequest): MemoryRequest {
  const { kind, name, limit } = request;
  const counted = typeof limit === "object" && limit !== null;
  if (!counted && (kind === "semaphore") === (limit !== null)) return { ...request, limit };
  throw new UnsupportedError(
    counted
      ? `memory has no counters, so "${limit.countedBy}" cannot be the limit of "${name}": give a number`
      : `memory keeps no limits: a ${kind} has ${limit === null ? "to be given one" : "none"}`,
    { lockName: name, backend: "memory" },
  );
}
