import type { RedissonPublish } from "../layout/channels.js";
import type { RedisDesk } from "./desk.js";

/** On channels that our own clients listen to as well, so also where there is no Java. */
export function publishAlways(desk: RedisDesk): RedissonPublish {
  return desk.line.publishCommand;
}
