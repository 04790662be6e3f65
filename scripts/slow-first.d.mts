import { BaseSequencer } from "vitest/node";

export const slow: readonly string[];

export class SlowFirst extends BaseSequencer {}
