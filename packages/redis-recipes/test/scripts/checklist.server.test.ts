import { describe, expect, test } from "vitest";
import { redissonChannels } from "../../src/layout/channels.js";
import { fairKeyList, mutexKeyList, permitKeyList } from "../../src/layout/keys.js";
import { fairCancel } from "../../src/scripts/fair/cancel.js";
import { mutexForce } from "../../src/scripts/mutex/force.js";
import { renew } from "../../src/scripts/mutex/renew.js";
import { permitRelease } from "../../src/scripts/permit/release.js";
import { semaphoreGive } from "../../src/scripts/semaphore/give.js";
import { stage } from "../model/stage.js";

import {
  anna,
  bert,
  callsOn,
  carl,
  contentOf,
  expectSet,
  fair,
  fields,
  java,
  left,
  lock,
  name,
  permit,
  type Seen,
  semaphore,
} from "./checklist-calls.js";

const on = stage();
const {
  see,
  take,
  free,
  fairTake,
  fairEnd,
  fairFree,
  write,
  read,
  unwrite,
  unread,
  sc,
  ids,
  takePermits,
  latch,
} = callsOn(on);

describe("layout 2: hash field and count", () => {
  test("a mutex is one field, the owner, with the count 1, also when asked again", async () => {
    await take(anna);
    expect(fields(await take(anna))).toEqual({ [anna]: "1" });
  });

  test("a fair lock is the same hash", async () => {
    await fairTake(anna);
    expect(fields(await fairTake(anna))).toEqual({ [anna]: "1" });
  });

  test("a handed-over mutex names the new holder alone", async () => {
    await take(anna);
    await take(bert);
    const seen = await free(anna);
    expect(seen.answer).toMatchObject({ status: "handed" });
    expect(fields(seen)).toEqual({ [bert]: "1" });
  });
});

describe("layout 3: TTL after acquire and renewal", () => {
  test("the lease counts from the grant, and asking again leaves it alone", async () => {
    expectSet(left(await take(anna)), 30_000);
    await on.server.redis.pexpire(name, 5_000);
    const again = await take(anna, { leaseMs: 60_000 });
    expectSet(left(again), 5_000);
    expect(again.answer).toMatchObject({ status: "granted" });
    if (again.answer.status === "granted") expect(again.answer.pttlMs).toBeLessThanOrEqual(5_000);
  });

  test("a renewal raises it to the lease and never lowers it", async () => {
    await take(anna);
    await on.server.redis.pexpire(name, 5_000);
    const keys = [lock.lock, lock.token];
    expectSet(left(await see(renew, keys, renew.args(null, [{ field: anna, leaseMs: 30_000 }]))), 30_000);
    expectSet(left(await see(renew, keys, renew.args(null, [{ field: anna, leaseMs: 9_000 }]))), 30_000);
    expect(
      (await see(renew, keys, renew.args(null, [{ field: bert, leaseMs: 90_000 }]))).answer,
    ).toMatchObject([{ status: "gone" }]);
    expectSet(left(await see(renew, keys, renew.args(null, [{ field: bert, leaseMs: 90_000 }]))), 30_000);
  });

  test("a hand-over lasts for the claim lease, or for the wanted lease where that is shorter", async () => {
    await take(anna);
    await take(bert);
    await take(carl, { leaseMs: 1_000 });
    expectSet(left(await free(anna)), 3_000);
    expectSet(left(await free(bert)), 1_000);
  });
});

describe("layout 4: message text and channel of every way to end", () => {
  test("mutex freed, released or by force: 0 on its channel", async () => {
    await take(anna);
    expect((await free(anna)).published).toEqual([["redisson_lock__channel:{orders}", "0"]]);
    await take(java);
    const force = mutexForce.args({
      expected: "",
      publish: "publish",
      channel: redissonChannels.mutex(name),
      changes: "",
    });
    expect((await see(mutexForce, mutexKeyList(lock), force)).published).toEqual([
      ["redisson_lock__channel:{orders}", "0"],
    ]);
  });

  test("fair lock: 0 on the channel of the owner that is next, and on no other", async () => {
    await fairTake(anna);
    await fairTake(bert);
    await fairTake(carl);
    expect((await fairFree(anna)).published).toEqual([[`redisson_lock__channel:{orders}:${bert}`, "0"]]);
  });

  test("last reader: 0; writer: 1; downgrade: 1, where Redisson is silent", async () => {
    await read(anna);
    await read(bert);
    expect((await unread(anna)).published).toEqual([]);
    expect((await unread(bert)).published).toEqual([["redisson_rwlock:{orders}", "0"]]);
    await write(anna);
    expect((await unwrite(anna)).published).toEqual([["redisson_rwlock:{orders}", "1"]]);
    await write(bert);
    await read(bert);
    expect((await unwrite(bert)).published).toEqual([["redisson_rwlock:{orders}", "1"]]);
  });

  test("semaphores: the number of free permits after it, and nothing when that is negative", async () => {
    const marker = `${semaphore.markerPrefix}u:1`;
    const args = semaphoreGive.args({ permits: 4, markerMs: 1_000, ...sc });
    const give = async () => {
      await on.server.redis.set(marker, "taken");
      return await see(semaphoreGive, [name, marker], args);
    };
    await on.server.redis.set(name, "-7");
    expect((await give()).published).toEqual([]);
    expect((await give()).published).toEqual([["redisson_sc:{orders}", "1"]]);
  });

  test("a permit that comes back: the number of free permits", async () => {
    await takePermits(ids("a", "b"));
    const release = permitRelease.args({ ids: ids("a"), ...sc });
    expect((await see(permitRelease, permitKeyList(permit), release)).published).toEqual([
      ["redisson_sc:{orders}", "2"],
    ]);
  });

  test("a direct hand-off sends a message to the new holder alone, on its provider's channel", async () => {
    await take(anna);
    await take(bert);
    const seen = await free(anna);
    const [[channel, message] = ["", "{}"], ...more] = seen.published;
    expect(more).toEqual([]);
    expect(channel).toBe(`holdfast_grant:${bert.split(":")[0]}`);
    expect(JSON.parse(message)).toMatchObject({ type: "granted", key: name, owner: bert, run: on.runId });
  });
});

describe("layout 5: no message on refusal", () => {
  test("none of those who are refused says anything", async () => {
    await take(anna);
    const refused: Seen<unknown>[] = [
      await take(bert),
      await take(bert, { mayWait: false }),
      await free(bert),
      await free(java),
    ];
    await on.server.redis.flushall();
    await write(anna);
    refused.push(await write(bert), await read(bert), await unwrite(bert), await unread(bert));
    await on.server.redis.flushall();
    await fairTake(anna);
    refused.push(await fairTake(bert), await fairFree(bert));
    await on.server.redis.flushall();
    refused.push(await takePermits(ids("a", "b", "c", "d")), await latch("down", 1));
    expect(refused.flatMap((seen) => seen.published)).toEqual([]);
  });
});

describe("layout 6: no result key of ours", () => {
  test("after a release only the token is left, with its TTL", async () => {
    await take(anna);
    const seen = await free(anna);
    expect([...seen.keys.keys()]).toEqual(["redisson_lock_token:{orders}"]);
    expectSet(left(seen, lock.token), 604_800_000);
  });

  test("a second release of the same owner finds it gone and harms no later hold", async () => {
    await take(anna);
    await free(anna);
    await take(bert);
    const late = await free(anna);
    expect(late.answer.status).toBe("gone");
    expect(fields(late)).toEqual({ [bert]: "1" });
  });
});

describe("layout 7: sweep order", () => {
  test("heads whose deadline is over go one after the other, and the first live one stops it", async () => {
    const others = ["u:1", "u:2", "u:3", "u:4"];
    await on.server.redis.rpush(fair.queue, ...others);
    const far = Date.now() + 600_000;
    await on.server.redis.zadd(fair.deadlines, 1, "u:1", 2, "u:2", far, "u:3", 3, "u:4");
    await on.server.redis.hset(name, java, "1");
    const seen = await fairTake(anna, { mayWait: false });
    expect(contentOf(seen, fair.queue, "list").items).toEqual(["u:3", "u:4"]);
    expect([...contentOf(seen, fair.deadlines, "zset").scores.keys()].sort()).toEqual(["u:3", "u:4"]);
  });

  test("a head without a deadline that is not ours stops it too", async () => {
    await on.server.redis.rpush(fair.queue, "u:1", "u:2");
    await on.server.redis.zadd(fair.deadlines, 1, "u:2");
    const seen = await fairTake(anna, { mayWait: false });
    expect(contentOf(seen, fair.queue, "list").items).toEqual(["u:1", "u:2"]);
  });

  test("dead waiters of ours go at once, deadlines behind them come nearer by one wait", async () => {
    await fairTake(java);
    await fairTake(anna);
    await fairTake(bert);
    const before = contentOf(await fairTake(carl), fair.deadlines, "zset").scores;
    await on.server.redis.zadd(fair.alive, 1, anna);
    const seen = await fairTake("u:9", { mayWait: false });
    expect(contentOf(seen, fair.queue, "list").items).toEqual([bert, carl]);
    const after = contentOf(seen, fair.deadlines, "zset").scores;
    expect(after.get(bert)).toBe((before.get(bert) ?? 0) - 300_000);
    expect(after.get(carl)).toBe((before.get(carl) ?? 0) - 300_000);
  });
});

describe("layout 8: deadline arithmetic", () => {
  const scores = (seen: Seen<unknown>) => contentOf(seen, fair.deadlines, "zset").scores;

  test("the first waiter's deadline is the lease left and one wait away, each next one a wait behind it", async () => {
    await fairTake(java);
    await fairTake(anna);
    const seen = await fairTake(bert);
    expectSet((scores(seen).get(anna) ?? 0) - seen.nowMs, 330_000);
    expect((scores(seen).get(bert) ?? 0) - (scores(seen).get(anna) ?? 0)).toBe(300_000);
  });

  test("a grant takes one wait off all that stay, giving up off those behind", async () => {
    await fairTake(java);
    await fairTake(anna);
    await fairTake(bert);
    const before = scores(await fairTake(carl));
    await on.server.redis.del(name);
    const granted = await fairTake(anna);
    expect(granted.answer.status).toBe("granted");
    expect(scores(granted)).toEqual(
      new Map([bert, carl].map((owner) => [owner, (before.get(owner) ?? 0) - 300_000])),
    );
    const gone = await see(fairCancel, fairKeyList(fair), fairCancel.args(fairEnd(bert), [fairEnd(bert)]));
    expect(scores(gone)).toEqual(new Map([[carl, (before.get(carl) ?? 0) - 600_000]]));
  });

  test("a waiter that is heard again gets its deadline raised and never lowered", async () => {
    await fairTake(java);
    await fairTake(anna);
    await on.server.redis.zadd(fair.deadlines, Date.now() + 1_000, anna);
    const raised = await fairTake(anna);
    expectSet((scores(raised).get(anna) ?? 0) - raised.nowMs, 330_000);
    const far = Math.floor(raised.nowMs) + 900_000;
    await on.server.redis.zadd(fair.deadlines, far, anna);
    expect(scores(await fairTake(anna)).get(anna)).toBe(far);
  });

  test("a live waiter keeps its place even when its deadline is over", async () => {
    await fairTake(java);
    await fairTake(anna);
    await fairTake(bert);
    await on.server.redis.zadd(fair.deadlines, 1, anna);
    const seen = await fairTake(anna);
    expect(contentOf(seen, fair.queue, "list").items).toEqual([anna, bert]);
  });
});
