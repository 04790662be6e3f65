import {
  encodeFrame,
  errorCodes,
  opCodes,
  type ReplyHeader,
  WatchEventType,
  type WatcherEvent,
} from "@holdfast/zk-protocol";
import { guarded } from "./guarded.js";
import { type ConnectionManager, type LibraryPacket, libraryError, ManagerState } from "./library.js";

/** Requests that the library queues by itself. After a broken connection they are out of date, and the link sends its own. */
const housekeeping: ReadonlySet<number> = new Set([opCodes.auth, opCodes.setWatches, opCodes.ping]);

/** The states from which the library does not connect again, each with the error code for the requests in its queue. */
const closeCodes: ReadonlyMap<number, number> = new Map([
  [ManagerState.closing, errorCodes.ConnectionLoss],
  [ManagerState.sessionExpired, errorCodes.SessionExpired],
  [ManagerState.authenticationFailed, errorCodes.AuthFailed],
]);

/**
 * What a user does through the library's own API on a client that we share: requests, watches, and a chroot. Our own
 * requests do not use the chroot.
 */
export class LibrarySide {
  readonly #manager: ConnectionManager;
  readonly #stock: ConnectionManager;

  constructor(manager: ConnectionManager) {
    this.#manager = manager;
    this.#stock = Object.getPrototypeOf(manager) as ConnectionManager;
  }

  /** Why no other connection will come, as the library's error code; `undefined` when one will come. */
  get closeCode(): number | undefined {
    return closeCodes.get(this.#manager.state);
  }

  /** The library's watches, as server paths. */
  watches(): { data: string[]; exist: string[]; child: string[] } {
    const { watcherManager, chrootPath } = this.#manager;
    const absolute = (path: string): string =>
      chrootPath === undefined || chrootPath === "" ? path : path === "/" ? chrootPath : chrootPath + path;
    return {
      data: watcherManager.getDataWatcherPaths().map(absolute),
      exist: watcherManager.getExistenceWatcherPaths().map(absolute),
      child: watcherManager.getChildWatcherPaths().map(absolute),
    };
  }

  watchesPath(path: string, table: "data" | "child"): boolean {
    const local = this.#localPath(path);
    const { dataWatchers, existenceWatchers, childWatchers } = this.#manager.watcherManager;
    if (local === null) return false;
    if (table === "child") return childWatchers[local] !== undefined;
    return dataWatchers[local] !== undefined || existenceWatchers[local] !== undefined;
  }

  event(event: WatcherEvent): void {
    const path = this.#localPath(event.path);
    if (path === null) return;
    const type = WatchEventType[event.type];
    guarded(() => this.#manager.watcherManager.emit({ type, state: event.state, path }));
  }

  /**
   * Hands an answer to the library, one whole frame at a time: the library decodes the answers to its own requests.
   * `packet` is at the head of its queue.
   */
  answer(packet: LibraryPacket, header: ReplyHeader, frame: Buffer): void {
    const manager = this.#manager;
    const zxid = Buffer.from(manager.zxid); // the library would store any zxid, also the -1 of a refusal
    if (header.err !== 0 && libraryError(header.err).name === "UNKNOWN") {
      // The library would throw for this code, and the callback would be lost.
      manager.pendingQueue.shift();
      guarded(() => packet.callback?.(libraryError(header.err), { header, payload: null }));
    } else {
      guarded(() => this.#stock.onSocketData.call(manager, encodeFrame(frame)));
      manager.pendingBuffer = null;
    }
    manager.zxid = zxid;
  }

  drained(): void {
    guarded(() => this.#stock.onSocketDrain.call(this.#manager));
  }

  dropHousekeeping(): void {
    const { queue } = this.#manager.packetQueue;
    const kept = queue.filter((packet) => !housekeeping.has(packet.request.header?.type ?? 0));
    queue.splice(0, queue.length, ...kept);
  }

  unanswered(packet: LibraryPacket, code: number): void {
    guarded(() => packet.callback?.(libraryError(code)));
  }

  /**
   * Answers the requests that waited for a connection which will never come. The unchanged library leaves their callers
   * without an answer.
   */
  giveUpQueue(code: number): void {
    for (const packet of this.#manager.packetQueue.queue.splice(0)) this.unanswered(packet, code);
  }

  #localPath(path: string): string | null {
    const { chrootPath } = this.#manager;
    if (chrootPath === undefined || chrootPath === "") return path;
    if (path === chrootPath) return "/";
    return path.startsWith(`${chrootPath}/`) ? path.slice(chrootPath.length) : null;
  }
}
