import { type ConformanceOptions, derivedMutexConformance, type Fixture } from "@holdfast/conformance";
import type { CloseOptions, CloseReport, LockProvider, Mutex } from "@holdfast/core";
import { multiLock } from "@holdfast/multi-lock";
import { asMutex, leadOf } from "./as-mutex.js";

/** Runs the conformance suites of a mutex on multi-locks of one and of three locks of one provider. */
export function multiLockConformance(
  name: string,
  fixture: () => Promise<Fixture>,
  options: ConformanceOptions = {},
): void {
  derivedMutexConformance(
    name,
    "multi-lock of one",
    (provider, lockName) => {
      const lead = provider.mutex(lockName);
      return asMutex(multiLock([lead]), lead);
    },
    async () => led(await fixture()),
    { ...options, keeps: false },
  );
  derivedMutexConformance(
    name,
    "multi-lock of three",
    (provider, lockName) => {
      const lead = provider.mutex(lockName);
      const others = ["third", "second"].map((suffix) => provider.mutex(`${lockName}.${suffix}`));
      return asMutex(multiLock([...others, lead]), lead);
    },
    async () => led(await fixture()),
    { ...options, keeps: false },
  );
}

/** The same for a multi-lock over two backends. Holds are lost, and contact is cut, at the first backend. */
export function multiLockAcrossConformance(
  name: string,
  fixture: () => Promise<Fixture>,
  otherFixture: () => Promise<Fixture>,
  options: ConformanceOptions = {},
): void {
  const companions = new WeakMap<LockProvider, LockProvider>();
  const lockOf = (provider: LockProvider, lockName: string): Mutex => {
    const lead = provider.mutex(lockName);
    const companion = companions.get(provider);
    if (companion === undefined) throw new Error("the provider has no companion at the other backend");
    return asMutex(multiLock([companion.mutex(`${lockName}.other`), lead]), lead);
  };
  const both = async (): Promise<Fixture> => {
    const [first, second] = [led(await fixture()), await otherFixture()];
    const opened: LockProvider[] = [];
    return {
      ...first,
      async provider() {
        const [provider, companion] = [await first.provider(), await second.provider()];
        companions.set(provider, companion);
        opened.push(companion);
        await companion.ready();
        return provider;
      },
      // If one part has a lease, the end of that lease ends the whole hold.
      leases: (provider) =>
        [provider, companions.get(provider)].some((each) => each?.capabilities.lease === "ttl"),
      async close() {
        await Promise.all(opened.map((companion) => companion.close()));
        await first.close?.();
        await second.close?.();
      },
    };
  };
  derivedMutexConformance(name, "multi-lock across", lockOf, both, { ...options, keeps: false });
}

/** The suites count the holds and releases of the lock that they know, which is the lead. */
function led(fixture: Fixture): Fixture {
  const originals = new WeakMap<LockProvider, LockProvider>();
  return {
    ...fixture,
    async provider() {
      const original = await fixture.provider();
      const shown = leadsOf(original);
      originals.set(shown, original);
      return shown;
    },
    loseHold: (handle) => fixture.loseHold(leadOf(handle)),
    partition: (provider) => fixture.partition(originals.get(provider) ?? provider),
  };
}

const suffixed = /\.(second|third)$/;

/** Shows the provider as if it held only leads. */
function leadsOf(provider: LockProvider): LockProvider {
  let closing: Promise<CloseReport> | undefined;
  let others = 0;
  provider.events.on("lost", ({ name, reason }) => {
    if (reason === "provider-closed" && suffixed.test(name)) others++;
  });
  const held = () => provider.holds().filter(({ name }) => !suffixed.test(name));
  const shown = {
    holds: held,
    close(options?: CloseOptions): Promise<CloseReport> {
      const closed = provider.close(options);
      closing ??= closed.then(({ released, unconfirmed }) => ({ released: released - others, unconfirmed }));
      return closing;
    },
  };
  return new Proxy(provider, {
    get(target, key) {
      if (key === "holds" || key === "close") return shown[key];
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
