import { RecentMap } from "./recent-map.js";

/** How many locks have their highest token remembered; those asked for last stay. */
const rememberedTokens = 10_000;

/** Rule 9: what the next request for a lock raises its token key to, should a failover have lost it. */
export class TokenFloors {
  readonly #tokens = new RecentMap<string, bigint>(rememberedTokens);

  of(key: string): bigint {
    return this.#tokens.get(key) ?? 0n;
  }

  saw(key: string, token: bigint): void {
    const before = this.of(key);
    this.#tokens.set(key, token > before ? token : before);
  }
}
