import { Reader, Writer } from "./jute.js";
import { ProtocolError } from "./protocol-error.js";

/** The changes that a watch reports, each with its number on the wire. Servers send no others. */
export const WatchEventType = {
  created: 1,
  deleted: 2,
  "data-changed": 3,
  "children-changed": 4,
} as const;

export type WatchEventType = keyof typeof WatchEventType;

const names: ReadonlyMap<number, WatchEventType> = new Map(
  (Object.keys(WatchEventType) as WatchEventType[]).map((name) => [WatchEventType[name], name]),
);

/** The `WatcherEvent.state` of every event on the wire. Client libraries make up the other states themselves. */
export const syncConnectedState = 3;

/** The body of a frame whose reply header has the xid of events. */
export interface WatcherEvent {
  readonly type: WatchEventType;
  /** Always `syncConnectedState`. */
  readonly state: number;
  readonly path: string;
}

export function encodeWatcherEvent(event: WatcherEvent): Buffer {
  const writer = new Writer();
  writer.int(WatchEventType[event.type]);
  writer.int(event.state);
  writer.string(event.path);
  return writer.finish();
}

/**
 * Decodes the body behind the reply header. Throws `ProtocolError` for a type outside `WatchEventType`: if such an event
 * were skipped, a waiter could miss its wake-up without notice.
 */
export function decodeWatcherEvent(body: Uint8Array): WatcherEvent {
  const reader = new Reader(body);
  const number = reader.int("event.type");
  const type = names.get(number);
  if (type === undefined) {
    throw new ProtocolError(`event.type: ${number} is no watch event`);
  }
  return { type, state: reader.int("event.state"), path: reader.string("event.path") };
}
