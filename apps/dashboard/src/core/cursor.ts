import { Type } from "typebox";
import { Check } from "typebox/value";
import type { LocksQuery } from "../contract/api.js";

export type Sort = NonNullable<LocksQuery["sort"]>;

/** The last row of a page. The next page begins behind it, whatever was added or removed meanwhile. */
export interface Place {
  readonly sort: Sort;
  readonly value: number | null;
  readonly key: string;
  readonly cluster: string;
}

const PlaceSchema = Type.Tuple([
  Type.Enum(["waiters", "hold", "wait", "name"]),
  Type.Union([Type.Number(), Type.Null()]),
  Type.String(),
  Type.String(),
]);

export function cursorOf({ sort, value, key, cluster }: Place): string {
  return Buffer.from(JSON.stringify([sort, value, key, cluster])).toString("base64url");
}

/** `null` if `cursorOf` has not made it. */
export function placeOf(cursor: string): Place | null {
  let parsed: unknown;
  try {
    parsed = JSON.parse(Buffer.from(cursor, "base64url").toString("utf8"));
  } catch {
    return null;
  }
  if (!Check(PlaceSchema, parsed)) return null;
  const [sort, value, key, cluster] = parsed;
  return { sort, value, key, cluster };
}
