// The types of what collectors report of the locks of a backend, seen from outside.

export type * from "./observe/collector.js";
export type * from "./observe/observed-lock.js";
