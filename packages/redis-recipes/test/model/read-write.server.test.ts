import { test } from "vitest";
import { redissonChannels } from "../../src/layout/channels.js";
import { mutexKeyList, readHoldKey, readHoldKeyList, readWriteKeys } from "../../src/layout/keys.js";
import { writerField } from "../../src/layout/owners.js";
import { renew } from "../../src/scripts/mutex/renew.js";
import { readWriteAsk } from "../../src/scripts/read-write/ask.js";
import { readWriteForce } from "../../src/scripts/read-write/force.js";
import { readAcquire } from "../../src/scripts/read-write/read-acquire.js";
import { readRelease } from "../../src/scripts/read-write/read-release.js";
import { readRenew } from "../../src/scripts/read-write/read-renew.js";
import { writeAcquire } from "../../src/scripts/read-write/write-acquire.js";
import { writeCancel } from "../../src/scripts/read-write/write-cancel.js";
import { writeHeartbeat } from "../../src/scripts/read-write/write-heartbeat.js";
import { writeRelease } from "../../src/scripts/read-write/write-release.js";
import { Dice, Differential, limitMs, steps, wholeLease } from "./differential.js";
import { expectMet } from "./met.js";
import { renewModel } from "./mutex-model.js";
import { backdate, byStatus, byStatuses, dropKey, foreign, hours, randomSteps } from "./random-steps.js";
import { ReadWriteModel } from "./read-write-model.js";
import { javaOwners, ourOwners, stage } from "./stage.js";

const on = stage();

test(
  "the read-write lock's scripts do what the model does, step by step",
  async () => {
    const dice = new Dice("read-write lock scripts");
    const name = dice.of(["orders", "orders:{42}"]);
    const keys = readWriteKeys(name);
    const list = mutexKeyList(keys);
    const { holdPrefix } = keys;
    const both = new Differential(on.server);
    const model = new ReadWriteModel(both.space, keys, on.runId);
    let highest = 0n;
    const lease = (owner: string) => hours(ourOwners.indexOf(owner) + 2);
    const floor = () => (dice.chance(0.05) ? highest + BigInt(dice.below(3_600_000_000)) : highest);
    const pass = () => ({
      claimMs: dice.of([hours(1), hours(9)]),
      aliveMs: hours(3),
      maxDirectRun: dice.of([2, 2, -1, 0]),
      tokenTtlMs: dice.of([0, hours(24)]),
      publish: dice.of(["publish", "publish", "both", "none"] as const),
      channel: redissonChannels.readWrite(name),
      changes: "",
      readersTurnMs: dice.of([hours(1), hours(1), 0]),
    });
    const fields = () =>
      both.space.type(keys.lock) === "hash" ? [...both.space.hash(keys.lock).keys()] : [];
    const among = (owners: readonly string[]) =>
      owners.length > 0 && dice.chance(0.75) ? dice.of(owners) : dice.of(ourOwners);
    const reader = () => among(fields().filter((field) => ourOwners.includes(field)));
    const writer = () =>
      among(fields().flatMap((field) => (field.endsWith(":write") ? [field.slice(0, -6)] : [])));
    const learn = (answer: { status: string; token?: bigint }) => {
      if (answer.status === "granted" && (answer.token ?? 0n) > highest) highest = answer.token as bigint;
    };

    const write = async () => {
      const owner = dice.of(ourOwners);
      const given = {
        owner,
        leaseMs: lease(owner),
        mayWait: dice.chance(0.7),
        aliveMs: hours(3),
        notAfterMs: dice.of([null, null, null, 1]),
        tokenTtlMs: hours(24),
        floor: floor(),
        changes: "",
      };
      learn(
        await both.run(
          wholeLease(writeAcquire, given.leaseMs),
          list,
          writeAcquire.args(given),
          () => model.acquire(given),
          byStatus,
        ),
      );
    };
    const read = async () => {
      const given = {
        owner: dice.chance(0.2) ? writer() : dice.of(ourOwners),
        leaseMs: hours(1 + dice.below(6)),
        notAfterMs: dice.of([null, null, null, 1]),
        tokenTtlMs: dice.of([0, hours(24)]),
        floor: floor(),
        aliveMs: hours(3),
        readNumber: 1 + dice.below(3),
      };
      const keysOf = readHoldKeyList(name, given.owner);
      learn(
        await both.run(
          readAcquire,
          keysOf,
          readAcquire.args(given),
          () => model.readAcquire(given),
          byStatus,
        ),
      );
    };
    const beat = async () => {
      const entries = ourOwners
        .filter(() => dice.chance(0.25))
        .map((owner) => ({ owner, leaseMs: lease(owner), floor: floor() }));
      if (entries.length === 0) return;
      const common = {
        aliveMs: hours(3),
        claimMs: hours(1),
        notAfterMs: dice.of([null, null, 1]),
        tokenTtlMs: 0,
        changes: "",
      };
      const args = writeHeartbeat.args(common, entries);
      await both.run(
        writeHeartbeat,
        entries.flatMap(() => list),
        args,
        () => model.heartbeat(common, entries),
        byStatuses,
      );
    };
    const endWrite = async () => {
      const given = { owner: writer(), ...pass() };
      await both.run(writeRelease, list, writeRelease.args(given), () => model.writeRelease(given), byStatus);
    };
    const cancel = async () => {
      const owner = dice.chance(0.2) ? writer() : dice.of(ourOwners);
      const given = { owner, leaseMs: lease(owner), ...pass() };
      await both.run(writeCancel, list, writeCancel.args(given), () => model.writeCancel(given), byStatus);
    };
    const endRead = async () => {
      const given = { owner: reader(), holdPrefix, readNumber: 1 + dice.below(3), ...pass() };
      const keysOf = readHoldKeyList(name, given.owner);
      await both.run(readRelease, keysOf, readRelease.args(given), () => model.readRelease(given), byStatus);
    };
    const renewRead = async () => {
      const entries = ourOwners
        .filter(() => dice.chance(0.5))
        .map((field) => ({ field, leaseMs: hours(1 + dice.below(8)) }));
      if (entries.length === 0) return;
      const keysOf = entries.flatMap(({ field }) => [keys.lock, keys.token, readHoldKey(name, field)]);
      await both.run(
        readRenew,
        keysOf,
        readRenew.args(null, entries),
        () => model.readRenew(entries),
        byStatuses,
      );
    };
    const renewWrite = async () => {
      const entries = [{ ...keys, field: writerField(writer()), leaseMs: hours(1 + dice.below(12)) }];
      const keysOf = [keys.lock, keys.token];
      await both.run(
        renew,
        keysOf,
        renew.args(null, entries),
        () => renewModel(both.space, entries),
        byStatuses,
      );
    };
    const force = async () => {
      const given = {
        ...pass(),
        mode: dice.of(["read", "write"] as const),
        expected: dice.of(["", "", writer(), reader()]),
      };
      await both.run(readWriteForce, list, readWriteForce.args(given), () => model.force(given), byStatus);
    };
    const ask = async () => {
      const mode = dice.of(["read", "write"] as const);
      await both.run(readWriteAsk, [keys.lock], readWriteAsk.args({ mode }), () => model.ask(mode), byStatus);
    };
    // A Redisson reader that has entered again: it has one key for each level.
    const javaReads = async () => {
      const owner = dice.of(javaOwners);
      await both.edit(
        "java reads",
        `local mode = redis.call('HGET', KEYS[1], 'mode')
if mode and mode ~= 'read' then return nowUs end
redis.call('HSET', KEYS[1], 'mode', 'read')
local count = redis.call('HINCRBY', KEYS[1], ARGV[1], 1)
redis.call('SET', ARGV[3] .. ARGV[1] .. ':rwlock_timeout:' .. count, '1', 'PX', ARGV[2])
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end`,
        [keys.lock],
        [owner, hours(4), holdPrefix],
        (space) => {
          const mode = space.hash(keys.lock).get("mode");
          if (mode !== undefined && mode !== "read") return;
          space.hset(keys.lock, "mode", "read");
          const count = Number(space.hash(keys.lock).get(owner) ?? 0) + 1;
          space.hset(keys.lock, owner, String(count));
          space.set(readHoldKey(name, owner, count), "1", hours(4));
          if (space.pttl(keys.lock) < hours(4)) space.expire(keys.lock, hours(4));
        },
      );
    };
    const strange = () =>
      foreign(
        both,
        dice,
        [
          [keys.lock, "SET", "x"],
          [keys.lock, "HSET", `${javaOwners[0]}`, "1"],
          [keys.lock, "HSET", "mode", "other"],
          [keys.token, "SET", "text"],
        ],
        () => dice.of([write, read, beat, endRead, endWrite, cancel, force, ask, renewRead, renewWrite])(),
      );

    await randomSteps(dice, steps("read-write lock"), [
      [14, write],
      [22, read],
      [9, beat],
      [16, endWrite],
      [6, cancel],
      [20, endRead],
      [4, renewRead],
      [3, renewWrite],
      [2, force],
      [2, ask],
      [3, javaReads],
      [2, () => both.listen(redissonChannels.readWrite(name), dice.chance(0.3))],
      [3, () => dropKey(both, keys.run)],
      [3, () => dropKey(both, keys.lock)],
      [3, () => backdate(both, keys.alive, dice.of(ourOwners))],
      [3, () => dropKey(both, readHoldKey(name, dice.of([...ourOwners, ...javaOwners])))],
      [1, () => dropKey(both, dice.of([keys.waiters, keys.alive, keys.run, keys.token]))],
      [2, strange],
    ]);

    expectMet(both.tally, [
      "read-acquire busy",
      "read-acquire conflict",
      "read-acquire granted",
      "read-acquire late",
      "read-release freed",
      "read-release gone",
      "read-release handed",
      "read-release shared",
      "read-renew gone+renewed",
      "read-write-ask asked",
      "read-write-ask free",
      "read-write-force forced",
      "read-write-force other",
      "renew gone",
      "renew renewed",
      "write-acquire busy",
      "write-acquire conflict",
      "write-acquire granted",
      "write-acquire queued",
      "write-cancel none",
      "write-cancel removed",
      "write-heartbeat queued",
      "write-release downgraded",
      "write-release freed",
      "write-release gone",
      "write-release handed",
    ]);
  },
  limitMs,
);
