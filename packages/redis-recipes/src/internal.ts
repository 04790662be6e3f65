// Exports for sibling packages that look at the layout or need a connection of their own. Not covered by semantic versioning.

export type { Command } from "./client/commands.js";
export { NotSentError, OutcomeUnknownError, ReplyError } from "./client/errors.js";
export { copyOf, heardStreams } from "./client/heard-streams.js";
export { IoredisLine, type LineOptions } from "./client/ioredis-line.js";
export { failureOf, takesCommands } from "./client/ioredis-words.js";
export type * from "./client/redis-line.js";
export { type RequestMeter, requestMeter } from "./client/request-meter.js";
export { scriptNameOf } from "./client/script-command.js";
export { clientOptions, clusterOptions, commandSettings, defaultTimes } from "./client/settings.js";
export { databaseOf, type RedisAddress, type RedisTarget } from "./client/target.js";
export { closeClient } from "./client/topology.js";
export { grantChannel, type RedissonPublish, redissonChannels } from "./layout/channels.js";
export { parseGrantMessage } from "./layout/grant-message.js";
export { slotOfKey } from "./layout/hash-slot.js";
export { clientKey } from "./layout/identity.js";
export {
  doubleBarrierKeys,
  electionKeys,
  fairKeyList,
  fairKeys,
  mutexKeys,
  neverExpiresMs,
  permitKeys,
  readHoldKey,
  recordKeys,
  semaphoreKeys,
} from "./layout/keys.js";
export { prefixed, suffixed } from "./layout/names.js";
export { isOurs, parseOwner, WireOwners } from "./layout/owners.js";
export { resolveOptions } from "./provider/options.js";
export { clientStateOf } from "./provider/redis-locks.js";
export { targetOf } from "./provider/target-options.js";
export type { FieldsKind, FleetContext, LockKeys } from "./recipes/kinds/kind.js";
export { mutex } from "./recipes/kinds/mutex.js";
export { permitSemaphore, releasePermits } from "./recipes/kinds/permits.js";
export { redisKinds } from "./recipes/kinds/table.js";
export { participant } from "./recipes/operators/inspect.js";
export type { BoundCall } from "./recipes/requests/calls.js";
export { isMisdated, marginMs, ServerClock } from "./recipes/requests/server-clock.js";
export { mutexInspect } from "./scripts/inspect/mutex.js";
export { clock } from "./scripts/lua/clock.js";
export { fairQueue } from "./scripts/lua/fair.js";
export { mutexState } from "./scripts/lua/mutex-state.js";
export { publish } from "./scripts/lua/publish.js";
export { places } from "./scripts/lua/waiters.js";
export { mutexAsk } from "./scripts/mutex/ask.js";
export { mutexRelease, type ReleaseAnswer } from "./scripts/mutex/release.js";
export { isPermitId } from "./scripts/permit/answers.js";
export { type ExtendAnswer, extend } from "./scripts/redlock/extend.js";
export { type NodeAnswer, nodeIdentityKey } from "./scripts/redlock/identity.js";
export { type VoteAnswer, vote } from "./scripts/redlock/vote.js";
export type { CallScript, Script } from "./scripts/script.js";
