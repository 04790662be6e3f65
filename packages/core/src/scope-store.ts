import { AsyncLocalStorage } from "node:async_hooks";

/** The async context carries a `Frame`. This file does not know that type, so that every other file may import this one. */
let store: AsyncLocalStorage<object | undefined> | undefined;

/** Once the store exists, each `await` in the process costs more, so it is made only on request. */
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
 * Runs `fn` outside of every caller's scope. Node.js runs listeners, and timers, in the async context of the code that caused
 * or set them. That code may be the body of another task. A listener would then count as a part of that body, and could enter
 * its lock beside it. So all code that runs for another caller than the present one goes through here. This costs nothing as
 * long as no scope store exists.
 */
export function outsideScopes<T>(fn: () => T): T {
  if (store?.getStore() === undefined) return fn();
  return store.run(undefined, fn);
}
