// For siblings that look at the layout or need a connection of their own. Not covered by semantic versioning.

export { NotSentError, OutcomeUnknownError, type RefusalKind, ReplyError } from "./client/errors.js";
export { IoredisLine, type LineOptions } from "./client/ioredis-line.js";
export type { ReplicaPolicy } from "./client/master-node.js";
export type * from "./client/redis-line.js";
export type { RedisTarget } from "./client/target.js";
export { type ResolvedRedisOptions, resolveOptions } from "./provider/options.js";
export { deskOf, RedisProvider } from "./provider/redis-locks.js";
