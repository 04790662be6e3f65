import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { deepestFirst } from "../sequences.js";

const createType = 1;
const deleteType = 2;

/**
 * Writes a transaction log that a ZooKeeper server replays at its first start. It makes one node for each path, whose
 * next sequential child gets the given number.
 *
 * The protocol has no way to set the counter of a node. But each record of a created child carries the counter that its
 * parent has afterwards. So one child is created with the wanted number and deleted again, which leaves the counter
 * alone. Parents on the way are created too. The server must be started with `-Dzookeeper.snapshot.trust.empty=true`,
 * because there is a log without a snapshot.
 *
 * @param dataDir the server's `dataDir`; the log goes to its folder `version-2`.
 */
export function writeSequences(dataDir: string, sequences: Readonly<Record<string, number>>): void {
  const counters = new Map<string, number>();
  const records: Buffer[] = [];

  const record = (type: number, body: Buffer): void => {
    const header = new Writer()
      .int64(0n) // session: none
      .int32(0) // cxid
      .int64(BigInt(records.length + 1)) // zxid
      .int64(BigInt(Date.now()))
      .int32(type);
    records.push(Buffer.concat([header.done(), body]));
  };
  const create = (path: string, parentCounter: number): void => {
    record(
      createType,
      new Writer()
        .text(path)
        .int32(0) // empty data
        .int32(1) // one entry in the access list: all rights for every client
        .int32(31)
        .text("world")
        .text("anyone")
        .bool(false) // not ephemeral
        .int32(parentCounter)
        .done(),
    );
    counters.set(path, 0);
  };

  for (const [path, next] of deepestFirst(sequences)) {
    if (!/^(\/[^/]+)+$/.test(path)) throw new RangeError(`sequences: ${path} is not a path below /`);
    if (!Number.isInteger(next) || next < 1 || next > 0x7fff_ffff) {
      throw new RangeError(`sequences: ${next} for ${path} is not between 1 and 2147483647`);
    }
    for (let end = path.indexOf("/", 1); ; end = path.indexOf("/", end + 1)) {
      const part = end === -1 ? path : path.slice(0, end);
      if (!counters.has(part)) {
        const parent = part.slice(0, part.lastIndexOf("/")) || "/";
        const counter = (counters.get(parent) ?? 0) + 1;
        counters.set(parent, counter);
        create(part, counter);
      }
      if (end === -1) break;
    }
    create(`${path}/counter`, next);
    record(deleteType, new Writer().text(`${path}/counter`).done());
    counters.set(path, next);
  }

  const folder = join(dataDir, "version-2");
  mkdirSync(folder, { recursive: true });
  const fileHeader = new Writer().int32(0x5a4b_4c47).int32(2).int64(0n).done();
  const entries = records.map((payload) =>
    new Writer()
      .int64(BigInt(adler32(payload)))
      .int32(payload.length)
      .raw(payload)
      .raw(Buffer.of(0x42))
      .done(),
  );
  writeFileSync(join(folder, "log.1"), Buffer.concat([fileHeader, ...entries]));
}

function adler32(bytes: Buffer): number {
  let low = 1;
  let high = 0;
  for (const byte of bytes) {
    low = (low + byte) % 65_521;
    high = (high + low) % 65_521;
  }
  return high * 65_536 + low;
}

class Writer {
  readonly #parts: Buffer[] = [];

  int32(value: number): this {
    const bytes = Buffer.alloc(4);
    bytes.writeInt32BE(value);
    return this.raw(bytes);
  }

  int64(value: bigint): this {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64BE(value);
    return this.raw(bytes);
  }

  bool(value: boolean): this {
    return this.raw(Buffer.of(value ? 1 : 0));
  }

  text(value: string): this {
    const bytes = Buffer.from(value, "utf8");
    return this.int32(bytes.length).raw(bytes);
  }

  raw(bytes: Buffer): this {
    this.#parts.push(bytes);
    return this;
  }

  done(): Buffer {
    return Buffer.concat(this.#parts);
  }
}
