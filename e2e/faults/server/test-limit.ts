/** The time limit of one test, in milliseconds: a full run does some of them hundreds of times as often. */
export const testLimitMs: number = process.env.HOLDFAST_FULL === "1" ? 1_200_000 : 180_000;
