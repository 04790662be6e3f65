import type { SharedRecord } from "../../api/record.js";
import type { Barrier, CountDownLatch, DoubleBarrier } from "../../api/rendezvous.js";
import type { FencingToken } from "../../api/values.js";
import { DriverProvider, type ProviderParts } from "../../provider/driver-provider.js";
import { BarrierView } from "../../rendezvous/barrier.js";
import { CountDownLatchView } from "../../rendezvous/count-down-latch.js";
import { DoubleBarrierView } from "../../rendezvous/double-barrier.js";
import { RecordView } from "../../rendezvous/record.js";
import type { MemorySpace } from "../memory-space.js";
import { MemoryBarrier } from "./memory-barrier.js";
import { MemoryBoard } from "./memory-board.js";
import { MemoryDoubleBarrier } from "./memory-double-barrier.js";
import { MemoryLatch } from "./memory-latch.js";
import { memoryRecord } from "./memory-record.js";

/**
 * The locks of memory, and the primitives that are no locks, such as latches and barriers. All providers of one space share them.
 */
export class MemoryProvider extends DriverProvider<FencingToken> {
  readonly #board: MemoryBoard;

  constructor(parts: ProviderParts, space: MemorySpace) {
    super(parts);
    this.#board = MemoryBoard.of(space);
  }

  override countDownLatch(name: string): CountDownLatch {
    this.checkNamed("count-down-latch", name);
    const store = () => new MemoryLatch(this.engine, this.#board, name);
    return new CountDownLatchView(this.engine, name, store);
  }

  override barrier(name: string): Barrier {
    this.checkNamed("barrier", name);
    return new BarrierView(this.engine, name, () => new MemoryBarrier(this.engine, this.#board, name));
  }

  override doubleBarrier(name: string, parties: number): DoubleBarrier {
    this.checkNamed("double-barrier", name);
    const store = new MemoryDoubleBarrier(this.engine, this.#board, name);
    return new DoubleBarrierView(this.engine, name, parties, store);
  }

  override record(name: string): SharedRecord {
    this.checkNamed("record", name);
    return new RecordView(this.engine, name, memoryRecord(this.engine, this.#board, name));
  }
}
