import type {
  Capabilities,
  KeepingEndReason,
  LockEventMap,
  LossReason,
  PrimitiveKind,
  SessionState,
} from "@holdfast/core";

// Label values are the words of the API with `_` for `-`. The records below are closed by the types: a word more or less
// in the API does not compile here, and nothing else can become a label value.

type Words<W extends string> = Readonly<Record<W, true>>;

/** A word of the API as a label value. */
export function labelWord(word: string): string {
  return word.replaceAll("-", "_");
}

function labelWords(words: Readonly<Record<string, true>>): readonly string[] {
  return Object.keys(words).map(labelWord);
}

const backendWords: Words<Capabilities["backend"]> = {
  zookeeper: true,
  redis: true,
  redlock: true,
  memory: true,
};
export const backends: readonly string[] = labelWords(backendWords);

const recipeWords: Words<PrimitiveKind> = {
  mutex: true,
  "reentrant-mutex": true,
  "read-write-lock": true,
  "reentrant-read-write-lock": true,
  semaphore: true,
  "count-down-latch": true,
  barrier: true,
  "double-barrier": true,
  "leader-election": true,
  record: true,
  "semaphore-mutex": true,
  "naive-mutex": true,
  "shared-count": true,
  "shared-value": true,
  "atomic-long": true,
  "group-membership": true,
  "fair-mutex": true,
  "spin-mutex": true,
  "permit-semaphore": true,
};
export const recipes: readonly string[] = labelWords(recipeWords);

const outcomeWords: Words<LockEventMap["acquire-settled"]["outcome"]> = {
  granted: true,
  unavailable: true,
  timeout: true,
  aborted: true,
  error: true,
};
export const acquireOutcomes: readonly string[] = labelWords(outcomeWords);

const lossWords: Words<LossReason> = {
  "lease-expired": true,
  "lease-missing": true,
  "session-expired": true,
  "quorum-lost": true,
  suspended: true,
  stolen: true,
  "provider-closed": true,
};
export const lossReasons: readonly string[] = labelWords(lossWords);

const keepingEndWords: Words<KeepingEndReason> = {
  wanted: true,
  idle: true,
  "max-keep": true,
  evicted: true,
  "token-read": true,
  "not-lendable": true,
  released: true,
  lost: true,
  closed: true,
};
export const keepingEnds: readonly string[] = labelWords(keepingEndWords);

export const keepingStates: readonly ["idle", "lent"] = ["idle", "lent"];

const requeueWords: Words<LockEventMap["requeued"]["reason"]> = { "session-lost": true, "entry-gone": true };
export const requeueReasons: readonly string[] = labelWords(requeueWords);

const releaseFailureWords: Words<LockEventMap["release-failed"]["reason"]> = {
  unconfirmed: true,
  refused: true,
};
export const releaseFailureReasons: readonly string[] = labelWords(releaseFailureWords);

const stateWords: Words<SessionState> = { connecting: true, connected: true, suspended: true, lost: true };
export const sessionStates: readonly string[] = labelWords(stateWords);

export const holdEnds: readonly ["released", "lost"] = ["released", "lost"];
export const renewalOutcomes: readonly ["ok", "error"] = ["ok", "error"];
