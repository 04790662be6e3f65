import { EvictedError, memoryLocks } from "@holdfast/core";
import { memoryControls } from "@holdfast/core/testing";
import { describe, expect, it } from "vitest";
import { outage, refusal, settle, standing } from "./election-stage.js";
import { ScriptedGrant } from "./scripted-driver.js";

describe("lead", () => {
  it("tries trouble in transport again by the provider's policy, counting from each term anew", async () => {
    const asked: number[] = [];
    const next = (attempt: number) => {
      asked.push(attempt);
      return asked.length < 100 ? 10 : null;
    };
    const made = standing({ retry: { next } });
    const { runtime, contacts, requests, elect, setState } = made;
    const controller = new AbortController();
    let terms = 0;
    setState("suspended");
    const leading = made.election.lead({ signal: controller.signal }, () => {
      terms++;
      setState("suspended");
    });
    for (const attempt of [1, 2, 3]) {
      contacts.at(-1)?.reject(outage());
      await settle();
      expect(asked).toHaveLength(attempt);
      await runtime.advance(10);
    }
    expect(asked).toEqual([1, 2, 3]);
    setState("connected");
    contacts.at(-1)?.resolve();
    await settle();
    elect();
    await settle();
    await settle();
    expect({ terms, requests: requests.length }).toEqual({ terms: 1, requests: 1 });
    contacts.at(-1)?.reject(outage());
    await settle();
    expect(asked).toEqual([1, 2, 3, 1]);
    controller.abort();
    await leading;
  });

  it("ends with the error that the policy gives up on, or that is not of transport", async () => {
    const { contacts, setState, election } = standing({ retry: { next: () => null } });
    const { signal } = new AbortController();
    setState("suspended");
    const leading = election.lead({ signal }, () => {});
    contacts.at(-1)?.reject(outage());
    await expect(leading).rejects.toThrow(/no connection after .*: no answer/);
    for (const final of [refusal(), new EvictedError("deleted")]) {
      const made = standing();
      const failing = made.election.lead({ signal }, () => {});
      made.last().granted.reject(final);
      await expect(failing).rejects.toBe(final);
      expect(made.requests).toHaveLength(1);
    }
  });

  it("ends at once between two tries, when its signal aborts and when the provider closes", async () => {
    const { provider, contacts, setState, election } = standing({ retry: { next: () => 60_000 } });
    setState("suspended");
    const controller = new AbortController();
    const first = election.lead({ signal: controller.signal }, () => {});
    const second = election.lead({ signal: new AbortController().signal }, () => {});
    for (const contact of contacts) contact.reject(outage());
    await settle();
    controller.abort();
    expect(await first).toBeUndefined();
    await provider.close();
    expect(await second).toBeUndefined();
  });

  it("gives a term back, and does not begin its body, when the signal aborts in the moment of the election", async () => {
    const { election, elect, provider } = standing();
    const controller = new AbortController();
    provider.events.on("acquire-settled", () => controller.abort());
    let began = false;
    const leading = election.lead({ signal: controller.signal }, () => {
      began = true;
    });
    const grant = elect();
    await leading;
    expect({ began, releases: grant.releases.length }).toEqual({ began: false, releases: 1 });
  });

  it("does not stand again before its release is confirmed", async () => {
    const { election, elect, requests, provider } = standing();
    const controller = new AbortController();
    const grant = new ScriptedGrant(1e9);
    grant.releaseAnswer = undefined;
    let ended = false;
    const leading = election.lead({ signal: controller.signal }, () => {});
    void leading.then(() => {
      ended = true;
    });
    elect(grant);
    await settle();
    await settle();
    expect(grant.releases).toHaveLength(1);
    expect(provider.holds()).toEqual([]);
    controller.abort();
    await settle();
    expect({ ended, requests: requests.length }).toEqual({ ended: false, requests: 1 });
    grant.releases[0]?.resolve(true);
    await leading;
  });

  it("gives the entry back of a term that was given up with the contact, before it stands again", async () => {
    const { election, elect, requests } = standing();
    const controller = new AbortController();
    const grant = new ScriptedGrant(1e9);
    grant.releaseAnswer = undefined;
    let deposed = 0;
    const leading = election.lead({ signal: controller.signal }, async (_, { signal }) => {
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      deposed++;
    });
    elect(grant);
    await settle();
    grant.listener({ type: "lost", reason: "suspended" });
    await settle();
    await settle();
    expect({ deposed, released: grant.releases.length, requests: requests.length }).toEqual({
      deposed: 1,
      released: 1,
      requests: 1,
    });
    grant.releases[0]?.resolve(true);
    await settle();
    expect(requests).toHaveLength(2);
    controller.abort();
    await leading;
  });

  it("ends when another client deletes its candidacy", async () => {
    const locks = memoryLocks();
    const term = await locks.leaderElection("e").campaign();
    const leading = locks.leaderElection("e").lead({ signal: new AbortController().signal }, () => {});
    const ended = expect(leading).rejects.toThrow(EvictedError);
    await settle();
    expect(memoryControls(locks).steal("e", 1)).toBe(true);
    await ended;
    await term.release();
  });
});
