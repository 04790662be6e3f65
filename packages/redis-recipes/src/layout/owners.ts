/**
 * Makes the UUID of a provider from a random UUID. Owners on the wire are `<uuid>:<decimal>`, like Redisson's `<client
 * uuid>:<thread id>`, and no script of Redisson reads more into them. Ours can still be recognised: Redisson draws random UUIDs,
 * whose version digit is 4, while the UUIDs of our providers have version 8, "for custom use". From this alone scripts and
 * readers know which holders listen on a grant channel.
 *
 * `keeps`: the provider may keep locks for their next owner. Random UUIDs have the variant 8 to b; that of such a provider is e.
 */
export function wireUuid(randomUuid: string, keeps = false): string {
  const uuid = randomUuid.toLowerCase();
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(uuid)) {
    throw new RangeError(`${JSON.stringify(randomUuid)} is not a UUID`);
  }
  return `${uuid.slice(0, 14)}8${uuid.slice(15, 19)}${keeps ? keepingVariant : uuid.charAt(19)}${uuid.slice(20)}`;
}

const keepingVariant = "e";

/** A wire owner: a new one for each grant of the backend, never used again. */
export function wireOwner(uuid: string, counter: number | bigint): string {
  return `${uuid}:${counter}`;
}

export interface WireOwner {
  /** The client: a provider of ours or a Redisson instance. */
  readonly uuid: string;
  /** For our owners a counter, for Redisson's the thread id. */
  readonly number: string;
  readonly ours: boolean;
  /** Whether it belongs to a provider of ours that may keep locks. Such a provider may hold a lock for no owner. */
  readonly mayKeep: boolean;
}

const shape = /^([0-9a-f]{8}-[0-9a-f]{4}-([0-9a-f])[0-9a-f]{3}-([0-9a-f])[0-9a-f]{3}-[0-9a-f]{12}):(\d+)$/i;

/** `null` for text that neither we nor Redisson write. */
export function parseOwner(owner: string): WireOwner | null {
  const found = shape.exec(owner);
  if (!found) return null;
  const ours = found[2] === "8";
  const mayKeep = ours && found[3]?.toLowerCase() === keepingVariant;
  return { uuid: found[1] as string, number: found[4] as string, ours, mayKeep };
}

/** Whether the owner belongs to a provider of ours, in any process. */
export function isOurs(owner: string): boolean {
  return parseOwner(owner)?.ours === true;
}

/** The field of a writer in the hash of a read-write lock. The field of a reader is the owner alone. */
export function writerField(owner: string): string {
  return `${owner}:write`;
}

/** Draws the wire owners of one provider. */
export class WireOwners {
  readonly uuid: string;
  #drawn = 0;

  /** `keeps`: the provider may keep locks for their next owners. */
  constructor(randomUuid: string, keeps = false) {
    this.uuid = wireUuid(randomUuid, keeps);
  }

  /**
   * A new owner for each grant of the backend, and in RedLock for each round of votes. It is never used again, whatever the
   * outcome.
   */
  fresh(): string {
    return wireOwner(this.uuid, ++this.#drawn);
  }

  /** Whether this object drew the owner, however long ago. */
  hasDrawn(owner: string): boolean {
    const parsed = parseOwner(owner);
    return parsed?.uuid === this.uuid && Number(parsed.number) <= this.#drawn;
  }
}
