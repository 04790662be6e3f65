/**
 * What a backend implements: the interface that core calls, and helpers to implement it. Not stable before 1.0.
 *
 * @packageDocumentation
 */
export type * from "./api/driver.js";
export type { BackendLink } from "./api/link.js";
export { attemptFrom } from "./grants/attempt-from.js";
