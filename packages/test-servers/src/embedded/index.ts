export { type Clock, ManualClock } from "./clock.js";
export type { Compat } from "./compat.js";
export {
  type EmbeddedNode,
  type EmbeddedSession,
  EmbeddedZooKeeper,
  type RestartOptions,
  startEmbeddedZooKeeper,
} from "./embedded-zookeeper.js";
export type { FaultAction, FaultHit, HoldPoint } from "./faults/actions.js";
export type { EventHold } from "./faults/event-hold.js";
export type { Fault } from "./faults/fault.js";
export type { Faults, Release } from "./faults/faults.js";
export type { LaggingView } from "./faults/lagging-view.js";
export type { FaultMatch, FaultTarget } from "./faults/match.js";
export type { Operator, OperatorCreate } from "./operator.js";
export type { EmbeddedZooKeeperOptions } from "./options.js";
export type { Pace } from "./outbox.js";
