import type { PrimitiveKind } from "../api/capabilities.js";
import type { HoldInfo, InspectOptions, LockSnapshot } from "../api/inspect.js";
import type { LockView } from "../api/mutex.js";
import type { AcquireSpec } from "../grants/acquire-spec.js";
import type { GrantEngine } from "../grants/engine.js";
import type { HoldRecord } from "../grants/hold-record.js";
import { printable } from "../grants/printing.js";
import type { ResolvedAcquireOptions } from "../options/acquire-options.js";
import { checkCount, checkOptions, checkSignal, checkSignalAlone } from "../options/checks.js";
import { abortable } from "../signals/abortable.js";

const inspectKeys: ReadonlySet<string> = new Set(["signal", "maxPending"]);

/** The inner parts of a lock view, for sibling packages that combine several locks. */
export interface ViewParts {
  readonly engine: GrantEngine;
  readonly kind: PrimitiveKind;
  /** The options of a call that gives none. */
  readonly defaults: ResolvedAcquireOptions;
  /**
   * One acquire of this view as a spec for the engine, so that it can be asked for together with other locks. `null` for views
   * that do more than that, such as re-entry. Throws `DeadlockError` when the view's own `acquire` would reject with it.
   */
  spec(options: ResolvedAcquireOptions): AcquireSpec | null;
}

const parts: WeakMap<object, ViewParts> = new WeakMap();

/** The parts of a view; `undefined` for an object that is not one of our views. */
export function viewPartsOf(view: object): ViewParts | undefined {
  return parts.get(view);
}

/** The common part of named locks: a name, and the methods that ask about the lock without taking it. */
export abstract class View implements LockView {
  readonly name: string;
  readonly #parts: ViewParts;

  constructor(engine: GrantEngine, kind: PrimitiveKind, name: string, defaults: ResolvedAcquireOptions) {
    this.name = name;
    this.#parts = { engine, kind, defaults, spec: (options) => this.spec(options) };
    parts.set(this, this.#parts);
  }

  protected get engine(): GrantEngine {
    return this.#parts.engine;
  }

  protected get kind(): PrimitiveKind {
    return this.#parts.kind;
  }

  protected get defaults(): ResolvedAcquireOptions {
    return this.#parts.defaults;
  }

  protected spec(_options: ResolvedAcquireOptions): AcquireSpec | null {
    return null;
  }

  inspect(options: InspectOptions = {}): Promise<LockSnapshot> {
    return this.look(options);
  }

  /** `limitOf`: called when all arguments are checked and there is contact. */
  protected async look(
    options: InspectOptions,
    limitOf: () => Promise<number | undefined> = async () => undefined,
  ): Promise<LockSnapshot> {
    const { engine, kind, name } = this;
    checkOptions("inspect", options, inspectKeys);
    checkSignal("inspect: signal", options.signal);
    checkCount("inspect: maxPending", options.maxPending);
    if (engine.closed) throw engine.closedError(name);
    options.signal?.throwIfAborted();
    return await abortable(
      engine,
      options.signal,
      async () => {
        if (engine.link.state !== "connected") await engine.contact();
        const limit = await limitOf();
        return withOwnHolds(engine, await engine.driver.inspect(kind, name, options, limit));
      },
      name,
    );
  }

  async requestRevoke(options: { signal?: AbortSignal } = {}): Promise<boolean> {
    const { engine, kind, name } = this;
    const { driver } = engine;
    checkSignalAlone("requestRevoke", options);
    if (engine.closed) throw engine.closedError(name);
    options.signal?.throwIfAborted();
    if (driver.requestRevoke === undefined) {
      throw engine.unsupported(`requestRevoke is not supported by the backend ${engine.backend}`, name);
    }
    return await abortable(
      engine,
      options.signal,
      async () => {
        if (engine.link.state !== "connected") await engine.contact();
        return (await driver.requestRevoke?.(kind, name)) ?? false;
      },
      name,
    );
  }
}

/** Adds what only this process knows of its own holds: owner, label, token, re-entries, exact age. */
function withOwnHolds(engine: GrantEngine, snapshot: LockSnapshot): LockSnapshot {
  const own = new Map<string, HoldRecord>();
  for (const hold of [...engine.holds, ...engine.staying]) {
    for (const id of [hold.grant.backendId, ...hold.grant.permitIds]) own.set(id, hold);
  }
  const nowMs = engine.runtime.nowMs();
  const idle = engine.keepings?.idleIds();
  const held = snapshot.held.map((info): HoldInfo => {
    if (idle?.has(info.backendId) === true) {
      return { ...info, owner: null, holdCount: 0, heldByThisProvider: true, kept: true };
    }
    const hold = own.get(info.backendId);
    if (hold === undefined || hold.name !== snapshot.name) return { ...info };
    return {
      ...info,
      owner: hold.owner,
      label: hold.label ?? info.label,
      token: hold.grant.token,
      holdCount: Math.max(1, hold.open.length),
      heldByThisProvider: true,
      kept: false,
      sinceMs: { value: nowMs - hold.grantedAtMs, provenance: "exact" },
    };
  });
  return printable({ ...snapshot, held });
}
