import { InvalidArgumentError, ProviderClosedError } from "@holdfast/core";
import { expect } from "vitest";
import { type Case, rejection } from "./harness.js";

export const recordCases: readonly Case[] = [
  [
    "has no text until one is written, keeps every character, and outlives its writer",
    async (h) => {
      const name = h.name();
      const writer = await h.provider();
      const text = `\ufeff${JSON.stringify({ who: "Zoë 🐙", quote: '"', line: "a\nb" })}`;
      expect(await writer.record(name).read()).toBeNull();
      expect(await writer.record(name).replace(null, text)).toBe(true);
      const reader = await h.provider();
      await writer.close();
      expect(await reader.record(name).read()).toBe(text);
    },
  ],
  [
    "is replaced only where the text is still the one that was seen",
    async (h) => {
      const record = (await h.provider()).record(h.name());
      expect(await record.replace("never written", "one")).toBe(false);
      expect(await record.replace(null, "one")).toBe(true);
      expect(await record.replace(null, "two")).toBe(false);
      expect(await record.replace("zero", "two")).toBe(false);
      expect(await record.read()).toBe("one");
      expect(await record.replace("one", "two")).toBe(true);
      expect(await record.read()).toBe("two");
    },
  ],
  [
    "counts a text that is there already as written, so that the same call may be made again",
    async (h) => {
      const record = (await h.provider()).record(h.name());
      expect(await record.replace(null, "one")).toBe(true);
      expect(await record.replace(null, "one")).toBe(true);
      expect(await record.replace("zero", "one")).toBe(true);
    },
  ],
  [
    "lets exactly one of many clients replace what all of them have seen",
    async (h) => {
      const name = h.name();
      const providers = await Promise.all([h.provider(), h.provider(), h.provider()]);
      let seen: string | null = null;
      for (let round = 0; round < 5; round++) {
        const texts = providers.flatMap((_, i) => [`${round} by ${i}`, `${round} by ${i} too`]);
        const before: string | null = seen;
        const wins = await Promise.all(
          texts.map((text, i) => providers[Math.floor(i / 2)]?.record(name).replace(before, text)),
        );
        expect(wins.filter((won) => won === true)).toHaveLength(1);
        seen = texts[wins.indexOf(true)] as string;
        const read = await Promise.all(providers.map((each) => each.record(name).read()));
        expect(read).toEqual(providers.map(() => seen));
      }
    },
  ],
  [
    "refuses what is no text, and calls after close()",
    async (h) => {
      const provider = await h.provider();
      const record = provider.record(h.name());
      for (const wrong of ["", 7, undefined, "half of 🐙".slice(0, -1), "x".repeat(65_537)]) {
        expect(await rejection(record.replace(null, wrong as string))).toBeInstanceOf(InvalidArgumentError);
      }
      expect(await rejection(record.replace("" as string, "x"))).toBeInstanceOf(InvalidArgumentError);
      expect(await record.read()).toBeNull();
      await provider.close();
      expect(await rejection(record.read())).toBeInstanceOf(ProviderClosedError);
      expect(await rejection(record.replace(null, "x"))).toBeInstanceOf(ProviderClosedError);
    },
  ],
];
