import {
  encodeConnectRequest,
  encodeFrame,
  encodeRequest,
  encodeRequestHeader,
  type OpName,
  opCodes,
  openAcl,
  passwordLength,
  type RequestOf,
} from "@holdfast/zk-protocol";

/** Frames one after the other, built before the clock starts. */
export interface Prebuilt {
  readonly bytes: Buffer;
  /** Where each frame ends; the frame i begins at `ends[i - 1]`. */
  readonly ends: Int32Array;
}

export function hello(): Buffer {
  const request = {
    protocolVersion: 0,
    lastZxidSeen: 0n,
    timeoutMs: 600_000,
    sessionId: 0n,
    password: new Uint8Array(passwordLength),
    readOnly: false,
  };
  return encodeFrame(encodeConnectRequest(request));
}

/** Create and delete, for one node after another. */
export function pairFrames(pairs: number, firstXid: number): Prebuilt {
  const frames: Buffer[] = [];
  for (let pair = 0; pair < pairs; pair++) {
    const path = `/bench/n${String(pair).padStart(7, "0")}`;
    const xid = firstXid + 2 * pair;
    frames.push(createFrame(xid, path), frame(xid + 1, "delete", { path, version: -1 }));
  }
  return joined(frames);
}

/** Creates `count` nodes below `parent`, with 16 bytes of data each. */
export function nodeFrames(parent: string, count: number, firstXid: number): Prebuilt {
  return joined(
    Array.from({ length: count }, (_, index) =>
      createFrame(
        firstXid + index,
        `${parent}/node-${String(index).padStart(10, "0")}`,
        Buffer.alloc(16, 0x78),
      ),
    ),
  );
}

export function createFrame(xid: number, path: string, data: Buffer | null = null): Buffer {
  return frame(xid, "create", { path, data, acl: openAcl, flags: 0 });
}

function frame<K extends OpName>(xid: number, op: K, request: RequestOf<K>): Buffer {
  return encodeFrame(encodeRequestHeader({ xid, type: opCodes[op] }), encodeRequest(op, request));
}

function joined(frames: readonly Buffer[]): Prebuilt {
  const ends = new Int32Array(frames.length);
  let end = 0;
  frames.forEach((each, index) => {
    end += each.length;
    ends[index] = end;
  });
  return { bytes: Buffer.concat(frames, end), ends };
}
