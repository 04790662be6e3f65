import type { SetWatchesRequest } from "@holdfast/zk-protocol";

/**
 * The most bytes of one `setWatches` request; Java's client has the same limit. A server closes the connection without an
 * answer for a frame over 1,048,575 bytes. The next connection would send that frame again: some 10,000 watches in one
 * piece would be such an endless loop.
 */
export const maxPieceBytes: number = 128 * 1024;

/** The bytes of the header, the relative zxid and the three counts. */
const fixedBytes = 4 + 8 + 8 + 3 * 4;

export interface WatchedPaths {
  readonly data: Iterable<string>;
  readonly exist: Iterable<string>;
  readonly child: Iterable<string>;
}

/**
 * The requests that restore these watches on a new connection. The server fires at once for each node that changed after
 * `relativeZxid`. So that zxid has to be the same in every piece: the last one seen *before* the connection broke.
 */
export function* setWatchesPieces(paths: WatchedPaths, relativeZxid: bigint): Generator<SetWatchesRequest> {
  let piece = emptyPiece();
  let bytes = fixedBytes;
  for (const list of ["data", "exist", "child"] as const) {
    for (const path of paths[list]) {
      const pathBytes = 4 + Buffer.byteLength(path);
      if (bytes + pathBytes > maxPieceBytes && bytes > fixedBytes) {
        yield requestOf(piece, relativeZxid);
        piece = emptyPiece();
        bytes = fixedBytes;
      }
      piece[list].push(path);
      bytes += pathBytes;
    }
  }
  if (bytes > fixedBytes) yield requestOf(piece, relativeZxid);
}

export const noPaths: ListedPaths = { data: [], exist: [], child: [] };

type ListedPaths = { readonly [list in keyof WatchedPaths]: readonly string[] };

/** The paths that are in `a` or in `b`. `b` has the library's. */
export function mergePaths(a: WatchedPaths, b: ListedPaths): WatchedPaths {
  // The library on a client of our own watches nothing. `a` may then be very long, and has each path once.
  if (b.data.length + b.exist.length + b.child.length === 0) return a;
  const union = (name: keyof WatchedPaths): string[] => [...new Set([...a[name], ...b[name]])];
  return { data: union("data"), exist: union("exist"), child: union("child") };
}

interface Piece {
  data: string[];
  exist: string[];
  child: string[];
}

const emptyPiece = (): Piece => ({ data: [], exist: [], child: [] });

const requestOf = (piece: Piece, relativeZxid: bigint): SetWatchesRequest => ({
  relativeZxid,
  dataWatches: piece.data,
  existWatches: piece.exist,
  childWatches: piece.child,
});
