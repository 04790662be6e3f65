import { AsyncLocalStorage } from "node:async_hooks";

/** What the async context carries: a `Frame`, which this file does not know, so that everything may import it. */
let store: AsyncLocalStorage<object | undefined> | undefined;

/** Once it exists, each `await` in the process costs more, so that it is made only on request. */
export function createScopeStore(): void {
  store ??= new AsyncLocalStorage();
}

export function scopesTracked(): boolean {
  return store !== undefined;
}

export function currentScope(): object | undefined {
  return store?.getStore();
}

export function runInScopeStore<T>(scope: object, body: () => T): T {
  return store === undefined ? body() : store.run(scope, body);
}

/**
 * Runs `fn` in no caller's scope. Node.js runs listeners, and timers, in the async context of the code that caused or set
 * them. That may be the body of another task: a listener would be taken for a part of it, and enter its lock beside it. So
 * whatever is run for others than the present caller goes through here. Free as long as no scope store exists.
 */
export function outsideScopes<T>(fn: () => T): T {
  if (store?.getStore() === undefined) return fn();
  return store.run(undefined, fn);
}
