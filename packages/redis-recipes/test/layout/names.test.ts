import { InvalidArgumentError } from "@holdfast/core";
import { describe, expect, test } from "vitest";
import { ourChannels, redissonChannels } from "../../src/layout/channels.js";
import { hashTag, slotOfKey } from "../../src/layout/hash-slot.js";
import {
  electionKeys,
  fairKeys,
  mutexKeys,
  permitKeys,
  readHoldKey,
  readWriteKeys,
  semaphoreKeys,
} from "../../src/layout/keys.js";
import { checkClusterName } from "../../src/layout/names.js";
import { isOurs, parseOwner, wireOwner, wireUuid, writerField } from "../../src/layout/owners.js";

describe("keys and channels that Java knows", () => {
  test("a name without braces gets them around it", () => {
    expect(fairKeys("orders")).toEqual({
      lock: "orders",
      token: "redisson_lock_token:{orders}",
      queue: "redisson_lock_queue:{orders}",
      deadlines: "redisson_lock_timeout:{orders}",
      alive: "holdfast_alive:{orders}",
    });
    expect(permitKeys("orders").grants).toBe("{orders}:timeout");
    expect(readHoldKey("orders", "u:1", 2)).toBe("{orders}:u:1:rwlock_timeout:2");
    expect(redissonChannels.mutex("orders")).toBe("redisson_lock__channel:{orders}");
    expect(redissonChannels.fairWaiter("orders", "u:1")).toBe("redisson_lock__channel:{orders}:u:1");
    expect(redissonChannels.readWrite("orders")).toBe("redisson_rwlock:{orders}");
    expect(redissonChannels.semaphore("orders")).toBe("redisson_sc:{orders}");
    expect(redissonChannels.latch("orders")).toBe("redisson_countdownlatch__channel__{orders}");
  });

  test("a name with a brace stays as it is, except in a latch's channel", () => {
    expect(mutexKeys("a:{b}").token).toBe("redisson_lock_token:a:{b}");
    expect(mutexKeys("a{b").token).toBe("redisson_lock_token:a{b");
    expect(permitKeys("a:{b}").grants).toBe("a:{b}:timeout");
    expect(readWriteKeys("a:{b}").holdPrefix).toBe("a:{b}:");
    expect(redissonChannels.mutex("a:{b}")).toBe("redisson_lock__channel:a:{b}");
    expect(redissonChannels.latch("a:{b}")).toBe("redisson_countdownlatch__channel__{a:{b}}");
  });

  test.each(["plain", "a{b}c", "{x}", "a:{b}"])("every key of our own for %s shares its slot", (name) => {
    const all = [
      ...Object.values(mutexKeys(name)),
      ...Object.values(fairKeys(name)),
      ...Object.values(permitKeys(name)),
      ...Object.values(semaphoreKeys(name)),
      ...Object.values(electionKeys(name)),
      readHoldKey(name, "u:1"),
      ourChannels.election(name),
    ];
    expect(new Set(all.map(slotOfKey))).toEqual(new Set([slotOfKey(name)]));
  });
});

describe("names in a cluster", () => {
  const table: [name: string, lock: boolean, latch: boolean][] = [
    ["plain", true, true],
    ["a{b}c", true, false],
    ["{x}", true, false],
    ["a:{b}", true, false],
    ["a{b", false, true],
    ["a}b", false, false],
    ["{}x", false, false],
  ];
  test.each(table)("%s: lock %s, latch %s", (name, lock, latch) => {
    for (const [use, allowed] of [
      ["lock", lock],
      ["latch", latch],
    ] as const) {
      const check = () => checkClusterName(name, use);
      if (allowed) expect(check).not.toThrow();
      else expect(check).toThrow(InvalidArgumentError);
    }
  });
});

test("the hash tag is what stands in the first pair of braces that has something in it", () => {
  expect(["a{b}c", "{x}{y}", "{}x", "a{b", "a}b{c}", "a{}{b}"].map(hashTag)).toEqual([
    "b",
    "x",
    "{}x",
    "a{b",
    "c",
    "a{}{b}",
  ]);
});

describe("owners", () => {
  const random = "0F4c2f80-1b1e-4c59-9d3c-4bb2cf9a5a10";

  test("a provider's uuid says by its version that it is ours, and stays a uuid", () => {
    expect(wireUuid(random)).toBe("0f4c2f80-1b1e-8c59-9d3c-4bb2cf9a5a10");
    expect(isOurs(wireOwner(wireUuid(random), 12))).toBe(true);
    expect(isOurs(`${random}:12`)).toBe(false);
    expect(() => wireUuid("provider-1")).toThrow(RangeError);
  });

  test("the uuid of a provider that keeps locks says so by a variant that no random one has", () => {
    const keeping = wireUuid(random, true);
    expect(keeping).toBe("0f4c2f80-1b1e-8c59-ed3c-4bb2cf9a5a10");
    expect(parseOwner(`${keeping}:3`)).toEqual({ uuid: keeping, number: "3", ours: true, mayKeep: true });
    expect(parseOwner(`${wireUuid(random)}:3`)?.mayKeep).toBe(false);
    // In the UUID of a Redisson client this digit means nothing.
    expect(parseOwner("0f4c2f80-1b1e-4c59-ed3c-4bb2cf9a5a10:3")?.mayKeep).toBe(false);
  });

  test("an owner is read back into client and number, and foreign text into nothing", () => {
    expect(parseOwner(`${random}:57`)).toEqual({ uuid: random, number: "57", ours: false, mayKeep: false });
    expect(parseOwner("mode")).toBeNull();
    expect(parseOwner(writerField(`${random}:57`))).toBeNull();
  });
});
