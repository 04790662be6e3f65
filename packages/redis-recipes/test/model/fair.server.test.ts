import { test } from "vitest";
import { redissonChannels } from "../../src/layout/channels.js";
import { fairKeyList, fairKeys } from "../../src/layout/keys.js";
import { fairAcquire } from "../../src/scripts/fair/acquire.js";
import { fairCancel } from "../../src/scripts/fair/cancel.js";
import { fairForce } from "../../src/scripts/fair/force.js";
import { fairHeartbeat } from "../../src/scripts/fair/heartbeat.js";
import { fairRelease } from "../../src/scripts/fair/release.js";
import { Dice, Differential, limitMs, steps } from "./differential.js";
import { FairModel, JavaFair } from "./fair-model.js";
import { expectMet } from "./met.js";
import { backdate, byStatus, byStatuses, dropKey, foreign, hours, randomSteps } from "./random-steps.js";
import { javaOwners, ourOwners, stage } from "./stage.js";

const on = stage();

test(
  "the fair lock's scripts do what the model does, step by step",
  async () => {
    const dice = new Dice("fair lock scripts");
    const name = dice.of(["orders", "orders:{42}"]);
    const keys = fairKeys(name);
    const list = fairKeyList(keys);
    const both = new Differential(on.server);
    const model = new FairModel(both.space, keys, on.runId);
    const java = new JavaFair(both.space, keys);
    const waitMs = hours(1);
    let highest = 0n;
    const floor = () => (dice.chance(0.05) ? highest + BigInt(dice.below(3_600_000_000)) : highest);
    const end = (owner: string) => ({
      owner,
      waitMs,
      publish: dice.of(["publish", "publish", "both", "none"] as const),
      channel: redissonChannels.mutex(name),
    });
    const holder = () => {
      const first =
        both.space.type(keys.lock) === "hash" ? [...both.space.hash(keys.lock).keys()][0] : undefined;
      return dice.chance(0.7) ? (first ?? dice.of(ourOwners)) : dice.of(ourOwners);
    };

    const acquire = async () => {
      const given = {
        owner: dice.of(ourOwners),
        leaseMs: hours(2 + dice.below(4)),
        mayWait: dice.chance(0.85),
        aliveMs: hours(3),
        notAfterMs: dice.of([null, null, null, 1]),
        tokenTtlMs: dice.of([0, hours(24)]),
        floor: floor(),
        waitMs,
      };
      const answer = await both.run(
        fairAcquire,
        list,
        fairAcquire.args(given),
        () => model.acquire(given),
        byStatus,
      );
      if (answer.status === "granted" && answer.token > highest) highest = answer.token;
    };
    const heartbeat = async () => {
      const entries = ourOwners
        .filter(() => dice.chance(0.4))
        .map((owner) => ({ owner, leaseMs: hours(4), floor: floor() }));
      if (entries.length === 0) return;
      const common = {
        aliveMs: hours(3),
        claimMs: hours(1),
        notAfterMs: dice.of([null, null, null, 1]),
        tokenTtlMs: 0,
        waitMs,
      };
      const args = fairHeartbeat.args(common, entries);
      await both.run(
        fairHeartbeat,
        entries.flatMap(() => list),
        args,
        () => model.heartbeat(common, entries),
        byStatuses,
      );
    };
    const release = async () => {
      const given = end(holder());
      await both.run(fairRelease, list, fairRelease.args(given), () => model.release(given), byStatus);
    };
    const cancel = async () => {
      const { publish, channel } = end("");
      const some = ourOwners.filter(() => dice.chance(0.3));
      const entries = (some.length > 0 ? some : [dice.of(ourOwners)]).map((owner) => ({ owner, channel }));
      const keysOf = entries.flatMap(() => list);
      const args = fairCancel.args({ waitMs, publish }, entries);
      await both.run(fairCancel, keysOf, args, () => model.cancel({ waitMs, publish }, entries), byStatuses);
    };
    const force = async () => {
      const given = { ...end(""), expected: dice.of(["", "", ...ourOwners]) };
      await both.run(fairForce, list, fairForce.args(given), () => model.force(given), byStatus);
    };
    const javaEnqueues = async () => {
      const owner = dice.of(javaOwners);
      const keysOf = [keys.lock, keys.queue, keys.deadlines];
      await both.edit("java enqueues", JavaFair.enqueueLua, keysOf, [owner, waitMs], () =>
        java.enqueue(owner, waitMs),
      );
    };
    const javaTakes = async () => {
      const owner = dice.of(javaOwners);
      const keysOf = [keys.lock, keys.queue, keys.deadlines];
      await both.edit("java takes", JavaFair.takeLua, keysOf, [owner, waitMs, hours(5)], () =>
        java.take(owner, waitMs, hours(5)),
      );
    };
    const strange = () =>
      foreign(
        both,
        dice,
        [
          [keys.lock, "SET", "x"],
          [keys.lock, "HSET", "mode", "read"],
          [keys.token, "SET", "text"],
          [keys.token, "RPUSH", "x"],
        ],
        () => dice.of([acquire, heartbeat, release, cancel, force])(),
      );

    await randomSteps(dice, steps("fair lock"), [
      [26, acquire],
      [14, heartbeat],
      [20, release],
      [6, cancel],
      [3, force],
      [8, javaEnqueues],
      [6, javaTakes],
      [4, () => dropKey(both, keys.lock)],
      [4, () => backdate(both, keys.alive, dice.of(ourOwners))],
      [3, () => backdate(both, keys.deadlines, dice.of([...ourOwners, ...javaOwners]))],
      [1, () => dropKey(both, dice.of([keys.alive, keys.token]))],
      [2, strange],
    ]);

    expectMet(both.tally, [
      "fair-acquire busy",
      "fair-acquire conflict",
      "fair-acquire granted",
      "fair-acquire late",
      "fair-acquire queued",
      "fair-cancel none",
      "fair-cancel none+removed",
      "fair-cancel removed",
      "fair-force forced",
      "fair-force free",
      "fair-force other",
      "fair-heartbeat late",
      "fair-heartbeat queued",
      "fair-heartbeat granted+queued",
      "fair-release freed",
      "fair-release gone",
    ]);
  },
  limitMs,
);
