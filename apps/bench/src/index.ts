export {
  type DashboardOptions,
  type DashboardPhase,
  type DashboardReport,
  measureDashboard,
} from "./dashboard/measure.js";
export type { Inside } from "./dashboard/messages.js";
export { type EmbeddedOptions, type EmbeddedReport, measureEmbedded } from "./embedded/measure.js";
export type { Footprint } from "./embedded/messages.js";
export { type FenceOptions, type FenceReport, measureFence, type WriteCost } from "./fence.js";
export { type HeartbeatCost, type HeartbeatsOptions, measureHeartbeats } from "./heartbeats.js";
export { type HandOffCost, type HerdOptions, type HerdReport, measureHerd } from "./herd.js";
export type { LatencySummary } from "./latencies.js";
export { type MemoryOptions, type MemoryReport, measureMemory } from "./memory.js";
export { type PairsOptions, type PairsProgress, type PairsReport, runPairs } from "./pairs.js";
export { measureRedis, type RedisOptions, type RedisReport } from "./redis.js";
