import {
  type AcquireOptions,
  AcquireTimeoutError,
  type LockHandle,
  type LockProvider,
  type LockView,
  type Mutex,
  type WithLockOptions,
} from "@holdfast/core";
import { type Handle, runScope, type ScopeBody, scopeArguments, viewPartsOf } from "@holdfast/core/internal";

/** A semaphore with one permit, used as a mutex. */
export function semaphoreOfOne(provider: LockProvider, name: string): Mutex {
  const semaphore = provider.semaphore(name, 1);
  // A permit handle has a mode and a semaphore is a view, but their types hide both. A mutex shows both.
  const shown = (handle: unknown) => handle as LockHandle;
  return asMutex(semaphore as unknown as LockView, {
    acquire: async (options) => shown(await semaphore.acquire(options)),
    tryAcquire: async (options) => shown(await semaphore.tryAcquire(options)),
    scope: (options, body) =>
      semaphore.withPermit(options, (permit, context) => body(shown(permit), context)),
    tryScope: (options, body) =>
      semaphore.tryWithPermit(options, (permit, context) => body(shown(permit), context)),
  });
}

/** Leadership, used as a mutex: the client that holds it leads. */
export function leadership(provider: LockProvider, name: string): Mutex {
  const election = provider.leaderElection(name);
  const tryCampaign = async (options: AcquireOptions = {}): Promise<LockHandle | null> => {
    try {
      return await election.campaign({ ...options, waitMs: options.waitMs ?? 0 });
    } catch (error) {
      if (error instanceof AcquireTimeoutError) return null;
      throw error;
    }
  };
  const run = <T>(term: LockHandle, { onLoss = "reject", signal }: WithLockOptions, body: ScopeBody<T>) => {
    const { engine } = viewPartsOf(election) ?? notOurs();
    return runScope(engine, term as unknown as Handle, { onLoss, signal }, body, undefined);
  };
  return asMutex(election as unknown as LockView, {
    acquire: (options) => election.campaign(options),
    tryAcquire: tryCampaign,
    async scope(options, body) {
      const { onLoss: _ofTheScope, ...asked } = options;
      return await run(await election.campaign(asked), options, body);
    },
    async tryScope(options, body) {
      const { onLoss: _ofTheScope, ...asked } = options;
      const term = await tryCampaign(asked);
      return term === null ? null : await run(term, options, body);
    },
  });
}

interface Verbs {
  acquire(options?: AcquireOptions): Promise<LockHandle>;
  tryAcquire(options?: AcquireOptions): Promise<LockHandle | null>;
  scope<T>(options: WithLockOptions, body: ScopeBody<T>): Promise<T>;
  tryScope<T>(options: WithLockOptions, body: ScopeBody<T>): Promise<T | null>;
}

function asMutex(view: LockView, verbs: Verbs): Mutex {
  return {
    name: view.name,
    inspect: (options) => view.inspect(options),
    requestRevoke: (options) => view.requestRevoke(options),
    acquire: verbs.acquire,
    tryAcquire: verbs.tryAcquire,
    async withLock<T>(first: WithLockOptions | ScopeBody<T>, second?: ScopeBody<T>): Promise<T> {
      const { options, body } = scopeArguments("withLock", first, second);
      return await verbs.scope(options ?? {}, body);
    },
    async tryWithLock<T>(first: WithLockOptions | ScopeBody<T>, second?: ScopeBody<T>): Promise<T | null> {
      const { options, body } = scopeArguments("tryWithLock", first, second);
      return await verbs.tryScope(options ?? {}, body);
    },
  };
}

function notOurs(): never {
  throw new Error("leaderElection() gave something that is not a view of core's");
}
