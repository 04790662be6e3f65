import type { AcquireOptions, WithLockOptions } from "../api/acquiring.js";
import { DeadlockError } from "../api/errors.js";
import type { LockHandle } from "../api/handle.js";
import type { Mutex } from "../api/mutex.js";
import type { AcquireSpec } from "../grants/acquisition.js";
import { Handle } from "../grants/handle.js";
import {
  acquireKeys,
  type ResolvedAcquireOptions,
  resolveAcquireOptions,
} from "../options/acquire-options.js";
import { currentFrame, Frame, frameOf, scopesTracked } from "../scopes/frames.js";
import { runScope, type ScopeBody } from "../scopes/run-scope.js";
import { scopeArguments } from "../scopes/scope-arguments.js";
import { View } from "./view.js";

/** A plain mutex over any driver. */
export class MutexView extends View implements Mutex {
  async acquire(options?: AcquireOptions): Promise<LockHandle> {
    return (await this.#take(this.#resolve(options, "acquire"), true)) as LockHandle;
  }

  async tryAcquire(options?: AcquireOptions): Promise<LockHandle | null> {
    const resolved = this.#resolve(options, "tryAcquire");
    return await this.#take({ ...resolved, waitMs: options?.waitMs ?? 0 }, false);
  }

  withLock<T>(body: ScopeBody<T>): Promise<T>;
  withLock<T>(options: WithLockOptions, body: ScopeBody<T>): Promise<T>;
  async withLock<T>(first: WithLockOptions | ScopeBody<T>, second?: ScopeBody<T>): Promise<T> {
    const { options, body } = scopeArguments(first, second);
    const resolved = resolveAcquireOptions("withLock", options, this.defaults, acquireKeys.scope);
    const handle = (await this.#take(resolved, true)) as Handle;
    const frame = scopesTracked()
      ? new Frame(Handle.holdOf(handle), { reentrant: false, parent: currentFrame() })
      : undefined;
    return await runScope(this.engine, handle, resolved, body, frame);
  }

  #resolve(options: AcquireOptions | undefined, what: string): ResolvedAcquireOptions {
    return resolveAcquireOptions(what, options, this.defaults, acquireKeys.view);
  }

  #take(options: ResolvedAcquireOptions, throws: boolean): Promise<Handle | null> {
    const { engine, kind, name } = this;
    // Asking once is answered truthfully; only a wait would never end.
    if (options.waitMs > 0 && scopesTracked() && frameOf(engine, name)?.hold.check() === true) {
      return Promise.reject(ownScopeError(name));
    }
    const owner = engine.freshOwner(options.label);
    const spec: AcquireSpec = { kind, name, mode: "exclusive", permits: 1, owner, options, throws };
    return engine.acquire(spec);
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
