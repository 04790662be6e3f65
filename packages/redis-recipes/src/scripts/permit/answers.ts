import type { RedissonPublish } from "../../layout/channels.js";

export interface PermitCall {
  readonly publish: RedissonPublish;
  readonly channel: string;
}

const shape = /^[0-9a-f]{32}$/;

/** A permit id as Redisson's applications know it: 32 hex digits. 16 raw bytes on the wire. */
export function isPermitId(id: string): boolean {
  return shape.test(id);
}

/** Ids are bytes for the script, and a wrong one would be cut or padded there. */
export function checkedIds(ids: readonly string[]): readonly string[] {
  for (const id of ids) {
    if (!isPermitId(id))
      throw new RangeError(`permit id ${JSON.stringify(id)} is not 32 lower-case hex digits`);
  }
  return ids;
}
