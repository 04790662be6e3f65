import type { AcquireOptions, WithLockOptions } from "../api/acquiring.js";
import { DeadlockError } from "../api/errors.js";
import type { Mutex } from "../api/mutex.js";
import type { LockMode } from "../api/values.js";
import type { AcquireSpec } from "../grants/acquire-spec.js";
import { claim } from "../grants/claim.js";
import { Handle } from "../grants/handle.js";
import {
  acquireKeys,
  onceUnlessSaid,
  type ResolvedAcquireOptions,
  resolveAcquireOptions,
} from "../options/acquire-options.js";
import { scopesTracked } from "../scope-store.js";
import { currentFrame, Frame, frameOf } from "../scopes/frames.js";
import { runScope, type ScopeBody } from "../scopes/run-scope.js";
import { scopeArguments } from "../scopes/scope-arguments.js";
import { View } from "./view.js";

/** A lock, or one side of a lock, that is not re-entrant: each acquire has an owner of its own. */
export abstract class PlainView<H extends Handle = Handle> extends View implements Mutex {
  protected abstract readonly mode: LockMode;
  /** Makes the handles, if they can do more than those of a mutex. */
  protected readonly handleFrom: AcquireSpec["handleFrom"];

  acquire(options?: AcquireOptions): Promise<H> {
    return this.#take("acquire", options, true) as Promise<H>;
  }

  tryAcquire(options?: AcquireOptions): Promise<H | null> {
    return this.#take("tryAcquire", options, false);
  }

  withLock<T>(body: ScopeBody<T>): Promise<T>;
  withLock<T>(options: WithLockOptions, body: ScopeBody<T>): Promise<T>;
  async withLock<T>(first: WithLockOptions | ScopeBody<T>, second?: ScopeBody<T>): Promise<T> {
    return (await this.#scope("withLock", first, second)) as T;
  }

  tryWithLock<T>(body: ScopeBody<T>): Promise<T | null>;
  tryWithLock<T>(options: WithLockOptions, body: ScopeBody<T>): Promise<T | null>;
  async tryWithLock<T>(first: WithLockOptions | ScopeBody<T>, second?: ScopeBody<T>): Promise<T | null> {
    return await this.#scope("tryWithLock", first, second);
  }

  async #scope<T>(
    what: "withLock" | "tryWithLock",
    first: WithLockOptions | ScopeBody<T>,
    second: ScopeBody<T> | undefined,
  ): Promise<T | null> {
    const { options, body } = scopeArguments(what, first, second);
    const throws = what === "withLock";
    const asked = resolveAcquireOptions(what, options, this.defaults, acquireKeys.scope);
    const resolved = throws ? asked : onceUnlessSaid(asked, options);
    const handle = (await claim(this.engine, this.spec(resolved, throws))) as H | null;
    if (handle === null) return null;
    const frame = scopesTracked()
      ? new Frame(Handle.holdOf(handle), { reentrant: false, parent: currentFrame() })
      : undefined;
    return await runScope(this.engine, handle, resolved, body, frame);
  }

  /** In the body of a scope with this mode a wait for this lock would never end. `undefined`: any mode. */
  protected get blockedBy(): LockMode | undefined {
    return undefined;
  }

  protected override spec(options: ResolvedAcquireOptions, throws = false): AcquireSpec {
    const { engine, kind, name, mode, handleFrom } = this;
    // A request that asks once gets a true answer; only a wait would never end.
    if (options.waitMs > 0 && scopesTracked()) {
      const own = frameOf(engine, name, this.blockedBy);
      // As soon as any code of the process has a re-entrant lock, frames exist for the whole process. That must not change
      // what this provider does.
      const refused = engine.options.detectDeadlocks || own?.reentrant === true;
      if (refused && own?.hold.check() === true) throw ownScopeError(name);
    }
    return {
      kind,
      name,
      mode,
      permits: 1,
      owner: engine.freshOwner(options.label),
      options,
      throws,
      handleFrom,
    };
  }

  /** Rejects when an option is wrong. It is no async function: `claim` is one, and the caller gets the promise of `claim`. */
  #take(what: string, given: AcquireOptions | undefined, throws: boolean): Promise<H | null> {
    try {
      const options = resolveAcquireOptions(what, given, this.defaults, acquireKeys.view);
      const asked = throws ? options : onceUnlessSaid(options, given);
      return claim(this.engine, this.spec(asked, throws)) as Promise<H | null>;
    } catch (error) {
      return Promise.reject(error);
    }
  }
}

export function ownScopeError(name: string, hint = ""): DeadlockError {
  return new DeadlockError(
    `the lock "${name}" is held by the withLock body that this call is made in${hint}`,
    {
      lockName: name,
    },
  );
}
