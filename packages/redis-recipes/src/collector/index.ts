export { redisCollector } from "./collector.js";
export type { RedisCollectorOptions } from "./options.js";
