export { type RedisCollector, redisCollector } from "./collector.js";
export { checkRedisCollector, type RedisCollectorOptions } from "./options.js";
