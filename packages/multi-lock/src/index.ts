export type { MultiHandle, MultiLock, MultiLockOptions, MultiLockPart } from "@holdfast/core";
export { multiLock } from "./multi-lock.js";
export type { RedLockNode, RedLocksOptions } from "./redlock/options.js";
export { redLocks } from "./redlock/red-locks.js";
