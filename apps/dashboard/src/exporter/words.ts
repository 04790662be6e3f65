import type {
  CollectorEvent,
  Finding,
  LockAction,
  ObservedLock,
  ObservedServer,
  ObservedSession,
} from "@holdfast/collectors";
import { labelWord, recipes } from "@holdfast/metrics/internal";
import type { AnyFindingKind } from "../core/own-findings.js";

// These lists are closed by the types, as in the metrics of clients: a word more or less in the model does not compile
// here.

type Words<W extends string> = Readonly<Record<W, true>>;

function labelWords(words: Readonly<Record<string, true>>): readonly string[] {
  return Object.keys(words).map(labelWord);
}

const backendWords: Words<ObservedLock["backend"]> = { zookeeper: true, redis: true };
export const observedBackends: readonly string[] = labelWords(backendWords);

/** The label of locks whose recipe was not recognised. */
export const unknownRecipe = "unknown";
export const observedRecipes: readonly string[] = [...recipes, unknownRecipe];

const lockStateWords: Words<ObservedLock["state"]> = { held: true, contended: true, idle: true };
export const lockStates: readonly string[] = labelWords(lockStateWords);

const sessionStateWords: Words<ObservedSession["state"]> = {
  connected: true,
  suspended: true,
  unknown: true,
};
export const observedSessionStates: readonly string[] = labelWords(sessionStateWords);

const findingWords: Words<AnyFindingKind> = {
  "deadlock-suspected": true,
  "stuck-with-waiters": true,
  "long-hold": true,
  "not-renewing": true,
  "no-lease": true,
  "orphan-parent": true,
  "queue-without-holder": true,
  "foreign-child": true,
  "mixed-kinds": true,
  "sequence-high": true,
  "old-downgrade-possible": true,
  "token-regressed": true,
  "eviction-policy": true,
  "unauthenticated-admin": true,
  "clock-skew": true,
  "sign-in-not-read": true,
  "history-failing": true,
};
export const findingKinds: readonly string[] = labelWords(findingWords);

const severityWords: Words<Finding["severity"]> = { critical: true, warning: true, info: true };
export const findingSeverities: readonly string[] = labelWords(severityWords);

/** The actions of operators on a lock or on a finding. */
export type AdminAction = LockAction | "mute";
const actionWords: Words<AdminAction> = {
  "request-revoke": true,
  "evict-waiter": true,
  "force-release": true,
  "clean-orphan": true,
  mute: true,
};
export const adminActions: readonly string[] = labelWords(actionWords);

export type AdminOutcome = "ok" | "denied" | "conflict" | "error";
const outcomeWords: Words<AdminOutcome> = { ok: true, denied: true, conflict: true, error: true };
export const adminOutcomes: readonly string[] = labelWords(outcomeWords);

const resyncWords: Words<Extract<CollectorEvent, { type: "resync" }>["reason"]> = {
  reconnected: true,
  "new-session": true,
  "roots-changed": true,
  failed: true,
};
export const resyncReasons: readonly string[] = labelWords(resyncWords);

/** The roles of ZooKeeper's servers. */
const roleWords: Words<Exclude<ObservedServer["role"], "master" | "replica" | "sentinel">> = {
  leader: true,
  follower: true,
  observer: true,
  standalone: true,
  unknown: true,
};
export const serverRoles: readonly string[] = labelWords(roleWords);
