import { type Channel, channel } from "node:diagnostics_channel";
import type { LockEventMap } from "../api/events.js";

type PublishedEvent =
  | "lost"
  | "released"
  | "renewed"
  | "session-state"
  | "request-settled"
  | "fencing-rejected";

/** The events that are published for tools that do not know the provider, each with the name of its channel. */
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
