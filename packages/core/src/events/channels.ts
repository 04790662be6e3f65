import { type Channel, channel } from "node:diagnostics_channel";
import type { LockEventMap } from "../api/events.js";

type PublishedEvent =
  | "lost"
  | "released"
  | "renewed"
  | "session-state"
  | "request-settled"
  | "fencing-rejected";

/** Events that are published for tools that know nothing of the provider: the name of the channel for each. */
export const channelNames: Readonly<Record<PublishedEvent, string>> = {
  lost: "holdfast:lock:lost",
  released: "holdfast:lock:released",
  renewed: "holdfast:lease:renewed",
  "session-state": "holdfast:session:state",
  "request-settled": "holdfast:request:settled",
  "fencing-rejected": "holdfast:fencing:rejected",
};

const channels: ReadonlyMap<keyof LockEventMap, Channel> = new Map(
  Object.entries(channelNames).map(([type, name]) => [type as keyof LockEventMap, channel(name)]),
);

export function channelOf(type: keyof LockEventMap): Channel | undefined {
  return channels.get(type);
}
