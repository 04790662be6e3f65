import { expect, test } from "vitest";
import { doubleBarrierKeys } from "../../src/layout/keys.js";
import { Scene } from "./scene.js";
import type { SimulatedClient } from "./simulated-client.js";

const pass = ({ provider }: SimulatedClient, waitMs = 10_000) =>
  provider.doubleBarrier("round", 2).enter({ waitMs });
const enter = (client: SimulatedClient): Promise<unknown> => pass(client, 1_000);

test("an enter that comes after its member has left counts no member, so that another does not pass alone", async () => {
  const scene = new Scene();
  const client = scene.client({}, { strayMs: () => 2_600 });
  const entering = enter(client);
  // The client first asks for the server's clock. Once that is answered, the request itself is under way.
  await scene.runtime.advance(2.5);
  const gaveUp = expect(scene.settle(entering)).rejects.toMatchObject({ code: "HF_ACQUIRE_TIMEOUT" });
  client.line.cut();
  client.line.mend();
  await gaveUp;
  const executed = scene.count("double-barrier");
  await scene.runtime.advance(2_000);
  expect(scene.count("double-barrier")).toBe(executed + 1);
  await expect(scene.settle(enter(scene.client()))).rejects.toMatchObject({ code: "HF_ACQUIRE_TIMEOUT" });
});

test("a member that died while it entered counts for an alive window, and no longer", async () => {
  const scene = new Scene();
  const client = scene.client();
  void enter(client);
  await scene.runtime.advance(10);
  client.crash();
  await scene.runtime.advance(3_500);
  await expect(scene.settle(enter(scene.client()))).rejects.toMatchObject({ code: "HF_ACQUIRE_TIMEOUT" });
});

test("a member that has passed and is cut off is lost before the others go on without it", async () => {
  const scene = new Scene();
  const [near, far] = [scene.client(), scene.client()];
  const [here, away] = await scene.settle(Promise.all([pass(near), pass(far)]));
  let wentOn = false;
  let wentOnAtLoss: boolean | undefined;
  away.lost.addEventListener("abort", () => {
    wentOnAtLoss = wentOn;
  });
  far.line.cut();
  const cutMs = scene.runtime.nowMs();
  await scene.settle(here.leave({ waitMs: 10_000 }).then(() => (wentOn = true)));
  expect(wentOnAtLoss).toBe(false);
  expect(away.lost.reason).toMatchObject({ reason: "lease-expired" });
  // The near member waited for the far one, from which it could not hear.
  expect(scene.runtime.nowMs() - cutMs).toBeGreaterThan(2_000);
});

test("a member whose leave() was done and not answered waits for no member of the next round", async () => {
  const scene = new Scene();
  const [near, far] = [scene.client(), scene.client()];
  const [here, away] = await scene.settle(Promise.all([pass(near), pass(far)]));
  const leaving = here.leave({ waitMs: 600_000 });
  const executed = scene.count("double-barrier");
  while (scene.count("double-barrier") === executed) await scene.runtime.step();
  near.line.cut();
  await scene.settle(away.leave({ waitMs: 10_000 }));
  const next = pass(far, 600_000);
  await scene.runtime.advance(50);
  near.line.mend();
  await scene.settle(leaving);
  await scene.settle(Promise.all([pass(near), next]));
});

test("leave() waits for the others although a failover has lost the key that says that the round has begun", async () => {
  const scene = new Scene();
  const [near, far] = [scene.client(), scene.client()];
  const [here, away] = await scene.settle(Promise.all([pass(near), pass(far)]));
  scene.redis.space.del(doubleBarrierKeys("round").full);
  let left = false;
  const leaving = here.leave({ waitMs: 60_000 }).then(() => {
    left = true;
  });
  await scene.runtime.advance(5_000);
  expect(left).toBe(false);
  await scene.settle(Promise.all([leaving, away.leave({ waitMs: 10_000 })]));
});

test("a member with a short alive window does not pass the exit alone while one with a long window is in", async () => {
  const scene = new Scene();
  const [near, far] = [scene.client(), scene.client({ heartbeatMs: 40_000, aliveMs: 140_000 })];
  const [here, away] = await scene.settle(Promise.all([pass(near), pass(far)]));
  await scene.runtime.advance(2_000);
  let wentOn = false;
  const left = here.leave({ waitMs: 300_000 }).then(() => {
    wentOn = true;
  });
  // This is longer than ten short windows, and shorter than the long one.
  await scene.runtime.advance(60_000);
  expect({ wentOn, lost: away.lost.aborted }).toEqual({ wentOn: false, lost: false });
  await scene.settle(Promise.all([left, away.leave({ waitMs: 10_000 })]));
  expect(wentOn).toBe(true);
});

test("a dead member holds the others at the exit for ten minutes at most, although the server's clock was set back by an hour", async () => {
  const scene = new Scene();
  const [near, far] = [scene.client(), scene.client()];
  const [here] = await scene.settle(Promise.all([pass(near), pass(far)]));
  far.crash();
  scene.redis.offsetMs -= 3_600_000;
  await scene.runtime.advance(2_000);
  let wentOn = false;
  const left = here.leave({ waitMs: 3_000_000 }).then(() => {
    wentOn = true;
  });
  await scene.runtime.advance(720_000);
  expect(wentOn).toBe(true);
  await left;
});
