/** The time limit of one test, in milliseconds. A full run repeats some rounds many times as often. */
export const testLimitMs: number = process.env.HOLDFAST_FULL === "1" ? 1_200_000 : 180_000;
