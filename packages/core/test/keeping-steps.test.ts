import type { KeepingEndReason } from "@holdfast/core";
import { expect, it } from "vitest";
import type { KeepTerms } from "../src/grants/keep-terms.js";
import { Keeping, type LocalWaiter, type Tenant } from "../src/grants/keeping.js";
import { KeepableGrant } from "./keeping-stage.js";

/** A keeping without its provider, on a clock that stands still. `heardAll`: nothing lies unread in the sockets. */
function alone(heardAll = true) {
  const grant = new KeepableGrant(1e9);
  const options = { keepMs: 1e9, fenceBy: "token" };
  const terms = { kind: "mutex", name: "a", owner: { id: "1" }, options } as unknown as KeepTerms;
  const ended: KeepingEndReason[] = [];
  const turns: (() => void)[] = [];
  const nothing = (): void => {};
  const keeping = new Keeping(
    {
      ...{ closing: false, maxKeepMs: 1e9, ownersLabelled: false },
      ...{ nowMs: () => 0, heardAll: () => heardAll, hasRoom: () => true },
      ...{ begun: nothing, idle: nothing, lent: nothing, wakeAt: nothing, over: nothing, givenBack: nothing },
      afterTurn: (fn) => turns.push(fn),
      ended: (_keeping, reason) => ended.push(reason),
    },
    terms,
    grant,
    true,
  );
  /** Every call to a waiter, with the waiter's name. */
  const heard: string[] = [];
  const tenants: Tenant[] = [];
  const wait = (name: string): LocalWaiter => {
    const waiter: LocalWaiter = {
      terms,
      mustWait: () => heard.push(`${name} must wait`),
      askBackend: () => heard.push(`${name} asks`),
      lent(tenant) {
        heard.push(`${name} has it`);
        tenants.push(tenant);
      },
    };
    keeping.wait(waiter);
    return waiter;
  };
  /** Plays one turn of the event loop: runs what was put off until then. */
  const turn = (): void => {
    for (const fn of turns.splice(0)) fn();
  };
  return { keeping, grant, terms, ended, heard, tenants, wait, turn };
}

it("takes the lock back from its present owner only, and from no owner once it is over", async () => {
  const { keeping, grant, tenants, wait } = alone();
  const first = keeping.tenant;
  expect(keeping.takeBack(first, true)).toBe(true);
  wait("second");
  expect(keeping.takeBack(first, true)).toBe(false);
  expect(keeping.lent).toBe(true);
  expect(keeping.takeBack(tenants[0] as Tenant, true)).toBe(true);
  const other = alone();
  await other.keeping.release(other.keeping.tenant);
  expect(other.keeping.takeBack(other.keeping.tenant, true)).toBe(false);
  expect([grant.releases.length, other.grant.releases.length]).toEqual([0, 1]);
});

it("asks the driver once whether it may be kept, however often an owner gives it back", () => {
  const { keeping, grant } = alone();
  grant.keeps = false;
  const { tenant } = keeping;
  expect([tenant.giveBack(true), tenant.giveBack(true)]).toEqual([false, false]);
  expect(grant.asked).toBe(1);
});

it("ends at the turn 65,535, which is the last that a resource can tell apart", () => {
  const { keeping, grant, terms, ended } = alone();
  expect(keeping.tenant.giveBack(true)).toBe(true);
  const turns: number[] = [];
  let last: Tenant | undefined;
  while (last === undefined) {
    // Ends a loop that would go on after the last turn.
    expect(turns.length).toBeLessThan(65_535);
    keeping.wait({
      terms,
      mustWait: () => expect.unreachable("lent to another"),
      askBackend: () => expect.unreachable("the backend is asked"),
      lent(tenant) {
        turns.push(tenant.turn);
        if (!tenant.giveBack(true)) last = tenant;
      },
    });
  }
  expect({ lends: turns.length, turn: last.turn }).toEqual({ lends: 65_535, turn: 65_535 });
  void last.release();
  expect(grant.releases).toHaveLength(1);
  expect(ended).toEqual(["max-keep"]);
});

it("is lent to no owner where its driver hears of another client as it is asked whether it may be lent", () => {
  const { keeping, grant, ended, heard, tenants, wait } = alone();
  keeping.tenant.giveBack(true);
  grant.mayLend = () => {
    keeping.wanted();
    return "yes";
  };
  wait("first");
  expect(heard).toEqual(["first asks"]);
  expect(tenants).toEqual([]);
  expect(grant.releases).toHaveLength(1);
  expect(ended).toEqual(["wanted"]);
});

it("lets those that stand for it ask the backend although its driver throws instead of rejecting", async () => {
  const { keeping, grant, ended, heard, tenants, wait } = alone();
  const mistake = new Error("a mistake of the driver's");
  grant.release = () => {
    throw mistake;
  };
  keeping.tenant.giveBack(true);
  wait("first");
  wait("second");
  await expect(tenants[0]?.release()).rejects.toBe(mistake);
  expect(heard).toEqual(["first has it", "second must wait", "second asks"]);
  expect(ended).toEqual(["released"]);
});

it("is lent behind one turn of the loop, however long that takes, and behind one more for each owner", () => {
  const { keeping, heard, tenants, wait, turn } = alone(false);
  keeping.tenant.giveBack(true);
  wait("first");
  expect(heard).toEqual([]);
  turn();
  expect(heard).toEqual(["first has it"]);
  tenants[0]?.giveBack(true);
  wait("second");
  turn();
  expect(heard).toEqual(["first has it", "second has it"]);
});

it("reports once to the waiters that came with the one to whom it is lent that they must wait, and not to one that has left", () => {
  const { keeping, heard, tenants, wait, turn } = alone(false);
  keeping.tenant.giveBack(true);
  wait("first");
  const left = wait("second");
  wait("third");
  wait("fourth");
  keeping.leave(left);
  turn();
  expect(heard).toEqual(["first has it", "third must wait", "fourth must wait"]);
  tenants[0]?.giveBack(true);
  turn();
  expect(heard.slice(3)).toEqual(["third has it"]);
  wait("fifth");
  expect(heard.slice(4)).toEqual(["fifth must wait"]);
});

it("has no owner in doubt while it is idle: its driver takes the loss of the entry for one", () => {
  const { keeping } = alone();
  keeping.tenant.giveBack(true);
  expect({ delivered: keeping.delivered, doubted: keeping.doubted }).toEqual({
    delivered: true,
    doubted: false,
  });
});
