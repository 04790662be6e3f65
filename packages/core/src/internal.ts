// Exports for sibling packages that build providers. Not covered by semantic versioning.
export { branded } from "./api/errors.js";

export type { BackendLink } from "./api/link.js";
export { Alarm, AlarmClock } from "./clock/alarm-clock.js";
export { ClockJump } from "./clock/clock-jump.js";
export { EarliestTimer } from "./clock/earliest-timer.js";
export { pause } from "./clock/pause.js";
export { inSlices, SlicedWork } from "./clock/slices.js";
export { channelNames } from "./events/channels.js";
export { EventHub } from "./events/event-hub.js";
export type { AcquireSpec, AcquireSpecs } from "./grants/acquire-spec.js";
export { claimAll } from "./grants/claim.js";
export type { GrantEngine } from "./grants/engine.js";
export { Handle } from "./grants/handle.js";
export { inspectBy } from "./grants/printing.js";
export {
  acquireKeys,
  type ResolvedAcquireOptions,
  resolveAcquireOptions,
} from "./options/acquire-options.js";
export { addressText } from "./options/address-text.js";
export {
  checkBoolean,
  checkChoice,
  checkKnownKeys,
  checkMethods,
  checkMillis,
  checkObject,
  checkSignal,
  checkSignalAlone,
  checkString,
  messageOf,
  show,
  stackOf,
} from "./options/checks.js";
export { validateLockName } from "./options/lock-name.js";
export { nearest } from "./options/nearest.js";
export { type ResolvedProviderOptions, resolveProviderOptions } from "./options/provider-options.js";
export { checkReleaseOptions } from "./options/release-options.js";
export { DriverProvider, type ProviderParts } from "./provider/driver-provider.js";
export { RecentMap } from "./recent-map.js";
export { type ViewParts, viewPartsOf } from "./recipes/view.js";
export { whenCertain } from "./recipes/when-certain.js";
export { afterPending, awaitValue, inBounds, takenBack } from "./rendezvous/await-value.js";
export { backendCall } from "./rendezvous/backend-call.js";
export { type BarrierStore, BarrierView } from "./rendezvous/barrier.js";
export type { BarrierEntry } from "./rendezvous/barrier-membership.js";
export { CountDownLatchView, type LatchStore } from "./rendezvous/count-down-latch.js";
export { type DoubleBarrierStore, DoubleBarrierView } from "./rendezvous/double-barrier.js";
export { type RecordStore, RecordView } from "./rendezvous/record.js";
export type { WaitBounds } from "./rendezvous/wait-bounds.js";
export { runInFrames } from "./scopes/run-in-frames.js";
export { runScope, type ScopeBody } from "./scopes/run-scope.js";
export { runInScope } from "./scopes/scope.js";
export { scopeArguments } from "./scopes/scope-arguments.js";
export { type Attempts, ConnectionWaiters, type VainWait } from "./signals/connection-waiters.js";
export { LateSignal } from "./signals/late-signal.js";
export { type ObservedSource, observeLatest, type Watched } from "./signals/observe-latest.js";
export { settledWithin } from "./signals/settled-within.js";
export { SignalHub } from "./signals/signal-hub.js";
