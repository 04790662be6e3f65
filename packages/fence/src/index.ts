export { FencedOutError } from "@holdfast/core";
export {
  type FastifyFenceOptions,
  type FencedReply,
  type FencedRequest,
  fastifyFence,
  fenceHeader,
  fenceHeaders,
  readFences,
} from "./http.js";
export {
  announceStatement,
  type FenceStatement,
  fencedOut,
  fenceStatement,
  type GuardedTable,
  type PgClient,
  type PgPool,
  postgresGuards,
  withFence,
  withoutPostgresGuards,
} from "./postgres.js";
export { type SqliteDatabase, type SqliteTable, sqliteGuards, withSqliteFence } from "./sqlite.js";
export {
  type Fence,
  type FencedHandle,
  type FenceOptions,
  fencesOf,
  type ResourceWriter,
  type Writer,
} from "./writer.js";
