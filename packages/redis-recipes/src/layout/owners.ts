/**
 * Owners on the wire are `<uuid>:<decimal>`, as Redisson's `<client uuid>:<thread id>`, and no script of Redisson reads more into
 * them. Ours say whose they are all the same: Redisson draws random UUIDs, whose version digit is 4; the UUID of our
 * providers has version 8, "for custom use". By that alone scripts and readers know which holders listen on a grant channel.
 *
 * `keeps`: the provider may keep locks for their next owner. Random UUIDs have the variant 8 to b, that of such a provider is e.
 */
export function wireUuid(randomUuid: string, keeps = false): string {
  const uuid = randomUuid.toLowerCase();
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(uuid)) {
    throw new RangeError(`${JSON.stringify(randomUuid)} is not a UUID`);
  }
  return `${uuid.slice(0, 14)}8${uuid.slice(15, 19)}${keeps ? keepingVariant : uuid.charAt(19)}${uuid.slice(20)}`;
}

const keepingVariant = "e";

/** A wire owner: drawn fresh for each grant of the backend, never used again. */
export function wireOwner(uuid: string, counter: number | bigint): string {
  return `${uuid}:${counter}`;
}

export interface WireOwner {
  /** The client: a provider of ours or a Redisson instance. */
  readonly uuid: string;
  /** Ours: a counter. Redisson's: the thread id. */
  readonly number: string;
  readonly ours: boolean;
  /** Ours, of a provider that may keep locks: what it holds it may hold for no owner. */
  readonly mayKeep: boolean;
}

const shape = /^([0-9a-f]{8}-[0-9a-f]{4}-([0-9a-f])[0-9a-f]{3}-([0-9a-f])[0-9a-f]{3}-[0-9a-f]{12}):(\d+)$/i;

/** `null` for what neither we nor Redisson write. */
export function parseOwner(owner: string): WireOwner | null {
  const found = shape.exec(owner);
  if (!found) return null;
  const ours = found[2] === "8";
  const mayKeep = ours && found[3]?.toLowerCase() === keepingVariant;
  return { uuid: found[1] as string, number: found[4] as string, ours, mayKeep };
}

/** Whether the owner is one of a provider of ours, in whatever process. */
export function isOurs(owner: string): boolean {
  return parseOwner(owner)?.ours === true;
}

/** The field of a writer in the hash of a read-write lock. The reader's field is the bare owner. */
export function writerField(owner: string): string {
  return `${owner}:write`;
}

/** The owners of one provider as they are on the wire. */
export class WireOwners {
  readonly uuid: string;
  #drawn = 0;

  /** `keeps`: the provider may keep locks for their next owners. */
  constructor(randomUuid: string, keeps = false) {
    this.uuid = wireUuid(randomUuid, keeps);
  }

  /** Fresh for each grant of the backend, in RedLock for each round of votes, and never used again however that ends. */
  fresh(): string {
    return wireOwner(this.uuid, ++this.#drawn);
  }

  /** Whether it was drawn here, however long ago. */
  hasDrawn(owner: string): boolean {
    const parsed = parseOwner(owner);
    return parsed?.uuid === this.uuid && Number(parsed.number) <= this.#drawn;
  }
}
