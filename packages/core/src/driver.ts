/**
 * What a backend is made of: the interface that core asks, and what helps to implement it. Not stable before 1.0.
 *
 * @packageDocumentation
 */
export type * from "./api/driver.js";
export type { BackendLink } from "./api/link.js";
export { attemptFrom } from "./grants/attempt-from.js";
