import type { Capabilities, LockHandle, LockProvider, Owner, PrimitiveKind } from "@holdfast/core";
import { EventHub } from "@holdfast/core/internal";

export interface FakeProvider {
  readonly provider: LockProvider;
  readonly hub: EventHub;
  state: LockProvider["state"];
}

const leases: Readonly<Record<Capabilities["backend"], Capabilities["lease"]>> = {
  zookeeper: "session",
  redis: "ttl",
  redlock: "ttl",
  memory: "process",
};

/** A provider with only the members that the metrics read. The test emits its events. */
export function fakeProvider(
  backend: Capabilities["backend"],
  runtime = { nowMs: () => performance.now() },
): FakeProvider {
  const id = `fake-${backend}`;
  const hub = new EventHub({
    provider: id,
    backend,
    runtime: runtime as NonNullable<ConstructorParameters<typeof EventHub>[0]["runtime"]>,
  });
  const fake = {
    hub,
    state: "connecting" as LockProvider["state"],
    provider: undefined as unknown as LockProvider,
  };
  fake.provider = {
    id,
    capabilities: { backend, lease: leases[backend] } as Capabilities,
    events: hub,
    get state() {
      return fake.state;
    },
    holds: (): readonly LockHandle[] => [],
    kept: () => [],
  } as unknown as LockProvider;
  return fake;
}

export function lockOf(
  name: string,
  kind: PrimitiveKind = "mutex",
  owner: Owner = { id: "o" },
): { kind: PrimitiveKind; name: string; owner: Owner; mode: "exclusive" } {
  return { kind, name, owner, mode: "exclusive" };
}
