export type { MultiHandle, MultiLock, MultiLockOptions } from "@holdfast/core";
export { multiLock } from "./multi-lock.js";
