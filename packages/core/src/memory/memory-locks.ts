import { InvalidArgumentError } from "../api/errors.js";
import type { LockProvider, ProviderOptions } from "../api/provider.js";
import type { FencingToken } from "../api/values.js";
import { EventHub } from "../events/event-hub.js";
import { show } from "../options/checks.js";
import { resolveProviderOptions } from "../options/provider-options.js";
import { MemoryDriver } from "./memory-driver.js";
import { MemoryLink } from "./memory-link.js";
import { MemorySpace } from "./memory-space.js";
import { MemoryProvider } from "./rendezvous/memory-provider.js";

/** What `memoryLocks()` takes. */
export interface MemoryLocksOptions extends ProviderOptions {
  /** Providers that are given the same space share its locks. Default: a space of its own. */
  space?: MemorySpace;
}

/** The parts of a memory provider that tests may disturb. `memoryControls()` of the `testing` entry finds them. */
export interface MemoryParts {
  readonly space: MemorySpace;
  readonly link: MemoryLink;
}

export const memoryParts: WeakMap<object, MemoryParts> = new WeakMap();

/**
 * Locks inside this process: for tests of code that takes a provider, and for services that run as one process. Two providers
 * exclude each other only if both are given the same `space`. Locks are granted in arrival order; tokens start at 1 in each
 * space. Throws `InvalidArgumentError` for options that it does not know.
 *
 * @example
 * ```ts
 * await using locks = memoryLocks();
 * await new Shop(locks).sell("book"); // takes any LockProvider
 * ```
 */
export function memoryLocks(options?: MemoryLocksOptions): LockProvider<FencingToken> {
  const resolved = resolveProviderOptions("memoryLocks", options, ["space"], { keeps: true });
  const space = options?.space ?? new MemorySpace();
  if (!(space instanceof MemorySpace)) {
    throw new InvalidArgumentError(`memoryLocks: space must be a MemorySpace; got ${show(space)}`);
  }
  if (resolved.keepMs > 0) space.rememberGrants();
  const { runtime } = resolved;
  const id = runtime.randomId();
  const events = new EventHub({ provider: id, backend: "memory", runtime });
  const link = new MemoryLink(id, events, runtime);
  const driver = new MemoryDriver(space, link, runtime);
  const provider = new MemoryProvider({ driver, link, events, options: resolved }, space);
  memoryParts.set(provider, { space, link });
  return provider;
}
