// For the test, which is TypeScript.
import type { Red } from "./vitest-report.mjs";

export interface SeenRed extends Red {
  project: string;
  seeds: readonly string[];
  log: string;
}
export class RedBook {
  redRuns: number;
  byTest: Map<string, SeenRed[]>;
  add(reds: readonly SeenRed[]): void;
}
export function seedsIn(log: string, file: string): string[];
export function describeReds(book: RedBook): string;
