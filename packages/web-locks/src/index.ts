export type {
  WebLock,
  WebLockCallback,
  WebLockInfo,
  WebLockManager,
  WebLockOptions,
  WebLockSnapshot,
} from "./api.js";
export { type WebLocksOptions, webLocks } from "./web-locks.js";
