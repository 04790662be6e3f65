import { InvalidArgumentError } from "../api/errors.js";
import { show } from "./checks.js";

const longestNameBytes = 512;

/**
 * Checks a lock name: on every backend it is well-formed Unicode of 1 to 512 bytes in UTF-8. Half of a surrogate pair has no
 * bytes of its own, so servers would get another character for it. Two names would then be one lock, and a message with the
 * name would name another lock. The factory of each backend checks what else it refuses, such as an illegal path.
 */
export function validateLockName(name: unknown): asserts name is string {
  if (typeof name !== "string") {
    throw new InvalidArgumentError(`a lock name must be a string; got ${show(name)}`);
  }
  if (name.length === 0) throw new InvalidArgumentError("a lock name must not be empty");
  if (/\p{Surrogate}/u.test(name)) {
    throw new InvalidArgumentError(
      `a lock name must be well-formed Unicode; ${show(name)} has half of a surrogate pair, as slice() leaves it of an emoji`,
    );
  }
  // Below 171 UTF-16 units no string is longer than 512 bytes.
  if (name.length <= longestNameBytes / 3) return;
  const bytes = Buffer.byteLength(name);
  if (bytes <= longestNameBytes) return;
  throw new InvalidArgumentError(
    `a lock name must be at most ${longestNameBytes} bytes in UTF-8; ${show(name)} has ${bytes}`,
  );
}
