import type { FencedHandle } from "../src/index.js";

/** A handle that holds, whatever its token is: of a holder that is late as well as of the present one. */
export function holder(name: string, token: bigint | null, turn = 0): FencedHandle {
  return { name, token, turn, assertHeld() {} };
}
