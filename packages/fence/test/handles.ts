import type { FencedHandle } from "../src/index.js";

/** A handle that says it holds, whatever its token. So it can play a late holder as well as the present one. */
export function holder(name: string, token: bigint | null, turn = 0): FencedHandle {
  return { name, token, turn, assertHeld() {} };
}
