// For siblings that build providers. Not covered by semantic versioning.

export type { BackendLink } from "./api/link.js";
export { Alarm, AlarmClock } from "./clock/alarm-clock.js";
export { type EventDetail, EventHub, type EventSource } from "./events/event-hub.js";
export {
  checkBoolean,
  checkKnownKeys,
  checkMethods,
  checkMillis,
  checkObject,
  checkSignal,
  checkString,
  show,
} from "./options/checks.js";
export { validateLockName } from "./options/lock-name.js";
export { type ResolvedProviderOptions, resolveProviderOptions } from "./options/provider-options.js";
export { createProvider, DriverProvider, type ProviderParts } from "./provider/driver-provider.js";
export { type ViewParts, viewPartsOf } from "./recipes/view.js";
export { SignalHub } from "./signals/signal-hub.js";
