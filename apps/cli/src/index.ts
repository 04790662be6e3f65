export { type Command, type Given, type Io, UsageError } from "./command.js";
export { main } from "./main.js";
export type { RedisSettings, Settings, Surroundings, ZooKeeperSettings } from "./settings.js";
