import type { Runtime } from "@holdfast/core";
import { type ChannelWaiters, cappedSleepMs } from "./channel-waiters.js";
import { every } from "./every.js";

/**
 * Calls `changed` at each message, once messages arrive, after each reconnect, and about each second besides, since
 * messages get lost and a lease that runs out sends none. Never before it has returned. The result ends it.
 */
export function watchChannel(
  rooms: ChannelWaiters,
  runtime: Runtime,
  channel: { readonly name: string; readonly kind: "plain" | "redisson" },
  changed: () => void,
): () => void {
  let watching = true;
  const place = rooms.enter(channel.name, channel.kind, "all", { size: 1, wake: changed });
  place.ready.then(
    () => watching && changed(),
    () => {},
  );
  const stopTimer = every(runtime, () => Math.ceil(cappedSleepMs(runtime)), changed);
  return () => {
    watching = false;
    stopTimer();
    place.leave();
  };
}
