import {
  doubleBarrierKeys,
  electionKeys,
  fairKeys,
  mutexKeys,
  permitKeys,
  readHoldKey,
  redissonChannels,
  semaphoreKeys,
} from "@holdfast/redis-recipes/internal";
import { describe, expect, it } from "vitest";
import { channelNameOf, globMatcher, keyNameOf, Patterns } from "../../src/redis/key-names.js";

const owner = "0c1b9c2e-3b0a-4c5d-9e6f-112233445566:57";

describe("names of keys read backwards", () => {
  it.each(["order:1", "orders:{42}", "a{b}c", "with space", "ключ"])(
    "finds the lock %s behind each key beside it",
    (name) => {
      const parts = [
        [mutexKeys(name).lock, "lock"],
        [mutexKeys(name).token, "token"],
        [mutexKeys(name).waiters, "waiters"],
        [mutexKeys(name).alive, "alive"],
        [mutexKeys(name).run, "run"],
        [fairKeys(name).queue, "queue"],
        [fairKeys(name).deadlines, "deadlines"],
        [permitKeys(name).grants, "grants"],
        [`${semaphoreKeys(name).markerPrefix}${owner}`, "take"],
        [readHoldKey(name, owner, 2), "read-hold"],
      ] as const;
      for (const [key, part] of parts) expect(keyNameOf(key)).toEqual({ lock: name, part });
    },
  );

  it("keeps what is ours alone under its own key", () => {
    const { lock, waiters, labels } = electionKeys("boss");
    expect(keyNameOf(lock)).toEqual({ lock: "holdfast_election:{boss}", part: "lock" });
    expect(keyNameOf(waiters)).toEqual({ lock, part: "waiters" });
    expect(keyNameOf(labels)).toEqual({ lock, part: "labels" });
    const { full, members } = doubleBarrierKeys("gate");
    expect(keyNameOf(full).lock).toBe(full);
    expect(keyNameOf(members)).toEqual({ lock: full, part: "members" });
  });

  it("finds the lock behind each channel of Redisson's", () => {
    for (const name of ["order:1", "orders:{42}"]) {
      expect(channelNameOf(redissonChannels.mutex(name))).toEqual({ lock: name, use: "mutex", owner: null });
      expect(channelNameOf(redissonChannels.fairWaiter(name, owner))).toEqual({
        lock: name,
        use: "fair",
        owner,
      });
      expect(channelNameOf(redissonChannels.readWrite(name))?.lock).toBe(name);
      expect(channelNameOf(redissonChannels.semaphore(name))?.lock).toBe(name);
      expect(channelNameOf(redissonChannels.latch(name))).toEqual({ lock: name, use: "latch", owner: null });
    }
    expect(channelNameOf("redisson_topic:{x}")).toBeNull();
    expect(channelNameOf(`holdfast_grant:${owner}`)).toBeNull();
  });
});

describe("patterns", () => {
  it.each([
    ["order:*", "order:1", true],
    ["order:*", "xorder:1", false],
    ["order:?", "order:12", false],
    ["o[a-r]der", "order", true],
    ["o[^a-r]der", "order", false],
    ["o[r-a]der", "order", true],
    ["a[\\]]b", "a]b", true],
    ["a[\\]]b", "ab", false],
    ["a[b", "ab", true],
    ["a[b-", "a-", true],
    ["a[]b", "ab", false],
    ["a[^]b", "axb", true],
    ["a\\*b", "a*b", true],
    ["a\\*b", "axb", false],
    ["a.b", "axb", false],
    ["*", "with\nline", true],
  ])("%s, %s: %s", (glob, key, matches) => {
    expect(globMatcher(glob)(key)).toBe(matches);
  });

  it("takes no longer than key times pattern, whatever a stranger names a key", () => {
    const patterns = new Patterns(["a:*:*:*:*:*:z"]);
    const since = process.cpuUsage();
    expect(patterns.includes(`a:${":".repeat(12_000)}`)).toBe(false);
    expect(patterns.includes(`a:${":".repeat(12_000)}z`)).toBe(true);
    const { user, system } = process.cpuUsage(since);
    expect((user + system) / 1_000).toBeLessThan(1_000);
  });

  it("asks the server for one pattern with the keys beside, and for everything with several", () => {
    expect(new Patterns(["order:*"]).match).toBe("*order:*");
    expect(new Patterns(["*"]).match).toBeNull();
    expect(new Patterns(["a*", "b*"]).match).toBeNull();
    expect(new Patterns(["boss"]).includes("holdfast_election:{boss}")).toBe(true);
    expect(new Patterns(["order:*"]).includes("session:order:1")).toBe(false);
  });
});
