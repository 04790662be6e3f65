import type { TurnsHad } from "./redisson-contention.js";

export interface GrantShares {
  /** What each contender had, in the order of the contenders. */
  readonly had: readonly TurnsHad[];
  /** The part of all grants that each contender had. */
  readonly shares: readonly number[];
  readonly contendedMs: number;
}

export interface GrantSharesOptions {
  /** For how long a bout lasts. */
  readonly boutMs: number;
  /** For how long a contender may sleep through, once, because it missed a message. */
  readonly sleepMs: number;
  /** The part of all grants that each contender should have. */
  readonly leastShare: number;
}

/**
 * Lets all contend for one bout, and for more bouts while one of them has too few grants: it may have slept through most of
 * the time. After four such times this can be the reason no longer.
 */
export async function grantShares(
  bout: () => Promise<readonly TurnsHad[]>,
  { boutMs, sleepMs, leastShare }: GrantSharesOptions,
): Promise<GrantShares> {
  let had = await bout();
  for (let contendedMs = boutMs; ; contendedMs += boutMs) {
    const total = had.reduce((sum, { grants }) => sum + grants, 0);
    const shares = had.map(({ grants }) => grants / total);
    if (Math.min(...shares) >= leastShare || contendedMs >= 4 * sleepMs) return { had, shares, contendedMs };
    had = together(had, await bout());
  }
}

function together(one: readonly TurnsHad[], other: readonly TurnsHad[]): TurnsHad[] {
  return one.map(({ grants, longestWaitMs }, at) => {
    const also = other[at] as TurnsHad;
    return { grants: grants + also.grants, longestWaitMs: Math.max(longestWaitMs, also.longestWaitMs) };
  });
}
