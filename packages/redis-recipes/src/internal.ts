// For siblings that look at the layout or need a connection of their own. Not covered by semantic versioning.

export { NotSentError, OutcomeUnknownError, type RefusalKind, ReplyError } from "./client/errors.js";
export { IoredisLine, type LineOptions } from "./client/ioredis-line.js";
export type { ReplicaPolicy } from "./client/master-node.js";
export type * from "./client/redis-line.js";
export { type RequestMeter, requestMeter } from "./client/request-meter.js";
export type { RedisTarget } from "./client/target.js";
export { grantChannel, redissonChannels } from "./layout/channels.js";
export { parseGrantMessage } from "./layout/grant-message.js";
export { mutexKeyList, mutexKeys } from "./layout/keys.js";
export { parseOwner, wireOwner, wireUuid } from "./layout/owners.js";
export { type ResolvedRedisOptions, resolveOptions } from "./provider/options.js";
export { deskOf, RedisProvider } from "./provider/redis-locks.js";
export { marginMs, ServerClock } from "./recipes/server-clock.js";
export { mutexInspect } from "./scripts/inspect/mutex.js";
export { mutexAsk } from "./scripts/mutex/ask.js";
export { mutexRelease, type ReleaseAnswer } from "./scripts/mutex/release.js";
export { type ExtendAnswer, extend } from "./scripts/redlock/extend.js";
export { type NodeAnswer, nodeIdentityKey } from "./scripts/redlock/identity.js";
export { type VoteAnswer, vote } from "./scripts/redlock/vote.js";
export type { CallScript, Script } from "./scripts/script.js";
