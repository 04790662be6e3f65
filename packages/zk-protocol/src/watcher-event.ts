import { Reader, Writer } from "./jute.js";
import { ProtocolError } from "./protocol-error.js";

/** What can happen to a watched node, with the number that travels. Servers send no others. */
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

/** `WatcherEvent.state` in every event that travels; client libraries make up the others for themselves. */
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
 * Reads what follows the reply header. A type outside `WatchEventType` is a `ProtocolError`: to skip it
 * would be to lose a wake-up without a word.
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
