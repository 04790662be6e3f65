/** Numbers from 0 to below 1, the same for the same seed (mulberry32). */
export type Chance = () => number;

/** Takes its seed from `HOLDFAST_SEED` when that is set, and prints it, so that a failed run can be repeated. */
export function chance(what: string): Chance {
  const given = Number(process.env.HOLDFAST_SEED);
  const seed = Number.isInteger(given) && given > 0 ? given : 1 + Math.floor(Math.random() * 0x7fff_ffff);
  console.log(`seed of ${what}: HOLDFAST_SEED=${seed}`);
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
