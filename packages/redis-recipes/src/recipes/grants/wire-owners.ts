import { parseOwner, wireOwner, wireUuid } from "../../layout/owners.js";

/** The owners of one provider as they are on the wire. */
export class WireOwners {
  readonly uuid: string;
  #drawn = 0;

  constructor(randomUuid: string) {
    this.uuid = wireUuid(randomUuid);
  }

  /** Fresh for each grant of the backend, and never used again however it ends. */
  fresh(): string {
    return wireOwner(this.uuid, ++this.#drawn);
  }

  /** Whether it was drawn here, however long ago. */
  hasDrawn(owner: string): boolean {
    const parsed = parseOwner(owner);
    return parsed?.uuid === this.uuid && Number(parsed.number) <= this.#drawn;
  }
}
