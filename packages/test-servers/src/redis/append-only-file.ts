import { readdirSync, readFileSync, statSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { TestServerError } from "../errors.js";

/** The path of the part that still grows, of the append-only file in a server's data folder. */
function growingPart(dataDir: string): string {
  const folder = join(dataDir, "appendonlydir");
  const manifest = readdirSync(folder).find((name) => name.endsWith(".manifest"));
  if (manifest === undefined) throw new TestServerError(`there is no append-only file in ${dataDir}`);
  const lines = readFileSync(join(folder, manifest), "utf8").split("\n");
  const growing = lines.findLast((line) => line.endsWith(" type i"));
  const file = /^file (\S+) /.exec(growing ?? "")?.[1];
  if (file === undefined) throw new TestServerError(`${manifest} names no part that grows`);
  return join(folder, file);
}

/** How many bytes of that part the server has given to the operating system. */
export function appendedBytes(dataDir: string): number {
  return statSync(growingPart(dataDir)).size;
}

/** Cuts that part back to an earlier length, as a power failure does when the disk did not have the rest yet. */
export function cutAppended(dataDir: string, bytes: number): void {
  const file = growingPart(dataDir);
  const { size } = statSync(file);
  if (!(Number.isInteger(bytes) && bytes >= 0 && bytes <= size)) {
    throw new RangeError(`${file} has ${size} bytes and cannot be cut to ${bytes}`);
  }
  truncateSync(file, bytes);
}
