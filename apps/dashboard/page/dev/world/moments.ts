import type { Participant } from "../../../src/contract/api.js";

type Moment = Participant["since"];

export const exact = (atMs: number): Moment => ({ atMs, provenance: "exact" });
export const atLeast = (atMs: number): Moment => ({ atMs, provenance: "at-least" });
export const unknown: Moment = { atMs: null, provenance: "unknown" };
