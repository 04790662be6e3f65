import type { AcquireOptions, WithLockOptions } from "../api/acquiring.js";
import type { PrimitiveKind } from "../api/capabilities.js";
import type { PermitLimit } from "../api/driver.js";
import { InvalidArgumentError } from "../api/errors.js";
import type { InspectOptions, SemaphoreSnapshot } from "../api/inspect.js";
import type { PermitHandle, Semaphore } from "../api/semaphore.js";
import type { AcquireSpec } from "../grants/acquire-spec.js";
import { claim } from "../grants/claim.js";
import type { GrantEngine } from "../grants/engine.js";
import { printable } from "../grants/printing.js";
import {
  acquireKeys,
  onceUnlessSaid,
  type ResolvedAcquireOptions,
  resolveAcquireOptions,
} from "../options/acquire-options.js";
import { show } from "../options/checks.js";
import { validateLockName } from "../options/lock-name.js";
import { runScope, type ScopeBody } from "../scopes/run-scope.js";
import { scopeArguments } from "../scopes/scope-arguments.js";
import { Permit } from "./permit.js";
import { View } from "./view.js";

type PermitOptions = AcquireOptions & { permits?: number };
type PermitScopeOptions = WithLockOptions & { permits?: number };
type PermitBody<T> = ScopeBody<T, PermitHandle>;

interface Ask {
  readonly permits: number;
  readonly options: ResolvedAcquireOptions;
}

const permitKeys: ReadonlySet<string> = new Set([...acquireKeys.view, "permits"]);
const permitScopeKeys: ReadonlySet<string> = new Set([...acquireKeys.scope, "permits"]);

/** The largest `int` of Java: Curator keeps a limit in a `SharedCount`, Redisson in a key that it reads as an `int`. */
const mostPermits = 2 ** 31 - 1;

/** See `LockDriver.mostPermits`. */
const defaultMostAtOnce = 10_000;

/**
 * A semaphore over any driver. All grants are shared, also with a limit of one. A body of `withPermit` may ask for more permits
 * of the same semaphore. There is no owner that could wait for itself, so `DeadlockError` is never thrown. Two bodies that each
 * hold some permits and wait for the rest wait for ever, unless `waitMs` limits the wait. Take all permits at once instead.
 */
export class SemaphoreView extends View implements Semaphore {
  readonly #limit: PermitLimit | null;

  /** `limit`: `null` where the backend keeps the number itself. */
  constructor(
    engine: GrantEngine,
    kind: PrimitiveKind,
    name: string,
    defaults: ResolvedAcquireOptions,
    limit: PermitLimit | null,
  ) {
    checkLimit(kind, limit);
    super(engine, kind, name, defaults);
    this.#limit = limit;
  }

  async acquire(options?: PermitOptions): Promise<PermitHandle> {
    return (await this.#take(this.#resolve("acquire", options, permitKeys), true)) as Permit;
  }

  async tryAcquire(options?: PermitOptions): Promise<PermitHandle | null> {
    return await this.#take(this.#resolveOnce("tryAcquire", options, permitKeys), false);
  }

  withPermit<T>(body: PermitBody<T>): Promise<T>;
  withPermit<T>(options: PermitScopeOptions, body: PermitBody<T>): Promise<T>;
  async withPermit<T>(first: PermitScopeOptions | PermitBody<T>, second?: PermitBody<T>): Promise<T> {
    const { options, body } = scopeArguments("withPermit", first, second);
    const ask = this.#resolve("withPermit", options, permitScopeKeys);
    const permit = (await this.#take(ask, true)) as Permit;
    return await runScope(this.engine, permit, ask.options, body, undefined);
  }

  tryWithPermit<T>(body: PermitBody<T>): Promise<T | null>;
  tryWithPermit<T>(options: PermitScopeOptions, body: PermitBody<T>): Promise<T | null>;
  async tryWithPermit<T>(
    first: PermitScopeOptions | PermitBody<T>,
    second?: PermitBody<T>,
  ): Promise<T | null> {
    const { options, body } = scopeArguments("tryWithPermit", first, second);
    const ask = this.#resolveOnce("tryWithPermit", options, permitScopeKeys);
    const permit = await this.#take(ask, false);
    return permit === null ? null : await runScope(this.engine, permit, ask.options, body, undefined);
  }

  async limit(): Promise<number> {
    const { engine, name } = this;
    const { driver } = engine;
    if (engine.closed) throw engine.closedError(name);
    const given = this.#limit;
    if (driver.limit === undefined) {
      if (typeof given === "number") return given;
      throw engine.unsupported(`the backend ${engine.backend} does not keep the limit of "${name}"`, name);
    }
    if (engine.link.state !== "connected") await engine.contact();
    try {
      return await driver.limit(name, given, this.kind);
    } catch (error) {
      throw engine.typed(error, name);
    }
  }

  /**
   * `held` has an entry for each permit, as the backend keeps them, and all entries of one batch name the same owner.
   * `available` is how many permits of the limit are not held: 0 where clients with a higher limit have taken more.
   */
  override async inspect(options: InspectOptions = {}): Promise<SemaphoreSnapshot> {
    let limit = 0;
    const snapshot = await this.look(options, async () => {
      limit = await this.limit();
      return limit;
    });
    return printable({ ...snapshot, limit, available: Math.max(0, limit - snapshot.held.length) });
  }

  #resolve(what: string, options: PermitScopeOptions | undefined, known: ReadonlySet<string>): Ask {
    const resolved = resolveAcquireOptions(what, options, this.defaults, known);
    const permits = options?.permits ?? 1;
    if (!Number.isInteger(permits) || permits < 1) {
      throw new InvalidArgumentError(
        `${what}: permits must be a whole number, 1 or more; got ${show(permits)}`,
        { lockName: this.name },
      );
    }
    if (typeof this.#limit === "number" && permits > this.#limit) {
      throw new InvalidArgumentError(
        `${what}: permits = ${permits} are more than the limit of "${this.name}", which is ${this.#limit}`,
        { lockName: this.name },
      );
    }
    const mostAtOnce = this.engine.driver.mostPermits?.(this.kind) ?? defaultMostAtOnce;
    if (permits > mostAtOnce) {
      throw new InvalidArgumentError(
        `${what}: permits = ${permits} are more than one call may ask for, which is ${mostAtOnce}; a semaphore that counts in larger units needs fewer`,
        { lockName: this.name },
      );
    }
    return { permits, options: resolved };
  }

  #resolveOnce(what: string, options: PermitScopeOptions | undefined, known: ReadonlySet<string>): Ask {
    const { permits, options: resolved } = this.#resolve(what, options, known);
    return { permits, options: onceUnlessSaid(resolved, options) };
  }

  #take({ permits, options }: Ask, throws: boolean): Promise<Permit | null> {
    const { engine, kind, name } = this;
    const spec: AcquireSpec = {
      kind,
      name,
      mode: "shared",
      permits,
      owner: engine.freshOwner(options.label),
      options,
      throws,
      limit: this.#limit,
      handleFrom: (hold) => new Permit(hold, options, permits),
    };
    return claim(engine, spec) as Promise<Permit | null>;
  }
}

function checkLimit(what: string, limit: unknown): void {
  if (limit === null) return;
  if (typeof limit === "object" && limit !== null && "countedBy" in limit) {
    validateLockName(limit.countedBy);
    return;
  }
  if (Number.isInteger(limit) && (limit as number) >= 1 && (limit as number) <= mostPermits) return;
  throw new InvalidArgumentError(
    `${what}: limit must be a whole number from 1 to ${mostPermits}; got ${show(limit)}`,
  );
}
