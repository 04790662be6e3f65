import type { RedissonPublish } from "../../layout/channels.js";

export interface PermitCall {
  readonly publish: RedissonPublish;
  readonly channel: string;
}

const shape = /^[0-9a-f]{32}$/;

/** Whether the text is a permit id as Redisson's applications know it: 32 hex digits. On the wire it is 16 raw bytes. */
export function isPermitId(id: string): boolean {
  return shape.test(id);
}

/**
 * Returns the ids; throws `RangeError` if one is malformed. The script turns ids into bytes, and would cut or pad a malformed
 * one.
 */
export function checkedIds(ids: readonly string[]): readonly string[] {
  for (const id of ids) {
    if (!isPermitId(id))
      throw new RangeError(`permit id ${JSON.stringify(id)} is not 32 lower-case hex digits`);
  }
  return ids;
}
