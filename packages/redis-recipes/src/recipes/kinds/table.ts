import type { PrimitiveKind } from "@holdfast/core";
import { election } from "./election.js";
import { fairMutex } from "./fair.js";
import type { RedisKind } from "./kind.js";
import { mutex } from "./mutex.js";
import { permitSemaphore } from "./permits.js";
import { readWriteLock } from "./read-write.js";
import { semaphore } from "./semaphore.js";
import { spinMutex } from "./spin.js";

/** Every kind that is granted. */
export const redisKinds: ReadonlyMap<PrimitiveKind, RedisKind> = new Map<PrimitiveKind, RedisKind>([
  ["mutex", mutex],
  ["reentrant-mutex", mutex],
  ["fair-mutex", fairMutex],
  ["spin-mutex", spinMutex],
  ["read-write-lock", readWriteLock],
  ["reentrant-read-write-lock", readWriteLock],
  ["semaphore", semaphore],
  ["permit-semaphore", permitSemaphore],
  ["leader-election", election],
]);
