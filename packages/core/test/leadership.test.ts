import {
  type CandidacyOptions,
  InvalidArgumentError,
  type LeadershipHandle,
  type LockSnapshot,
  memoryLocks,
  UnsupportedError,
} from "@holdfast/core";
import { describe, expect, expectTypeOf, it } from "vitest";
import { elected, refusal, settle, standing } from "./election-stage.js";

describe("terms", () => {
  it("are asked for in the variant that the provider's view was made with; by default in none", async () => {
    const { last, term } = await elected();
    expect(last().request).toMatchObject({
      kind: "leader-election",
      mode: "exclusive",
      permits: 1,
      limit: null,
      variant: null,
      label: "given",
    });
    const handle: LeadershipHandle = term;
    expect(await handle.release()).toBe("released");
  });

  it("have neither holdAtLeastMs nor fresh: a campaign with one of them does not compile, and is refused", async () => {
    expectTypeOf<Extract<keyof CandidacyOptions, "holdAtLeastMs" | "fresh">>().toBeNever();
    const { election, requests } = standing();
    const refused: object[] = [{ holdAtLeastMs: 5 }, { fresh: true }];
    for (const options of refused)
      await expect(election.campaign(options)).rejects.toThrow(InvalidArgumentError);
    expect(requests).toEqual([]);
  });
});

describe("announce", () => {
  it("is not supported where the backend shows no labels", async () => {
    const { term } = await elected();
    await expect(term.announce("x")).rejects.toThrow(UnsupportedError);
  });

  it("waits for contact, and ends with the loss when the term is lost meanwhile", async () => {
    const announced: string[] = [];
    const announce = async (_: unknown, label: string) => void announced.push(label);
    const { term, grant, contacts, setState } = await elected({ announce });
    setState("suspended");
    const first = term.announce("first");
    await settle();
    expect(announced).toEqual([]);
    setState("connected");
    for (const contact of contacts) contact.resolve();
    await first;
    expect(announced).toEqual(["first"]);
    setState("suspended");
    const second = term.announce("second");
    grant.listener({ type: "lost", reason: "session-expired" });
    await expect(second).rejects.toBe(term.lost.reason);
    for (const contact of contacts) contact.resolve();
    await settle();
    expect(announced).toEqual(["first"]);
  });

  it("does not announce for a term that was released while it waited for contact", async () => {
    const announced: string[] = [];
    const announce = async (_: unknown, label: string) => void announced.push(label);
    const { term, contacts, setState } = await elected({ announce });
    setState("suspended");
    const asked = term.announce("first");
    const ended = expect(asked).rejects.toMatchObject({ code: "HF_NOT_HELD" });
    await term.release();
    for (const contact of contacts) contact.resolve();
    await ended;
    expect(announced).toEqual([]);
  });

  it("asks the backend nothing for a term that is over", async () => {
    let asked = 0;
    const announce = async () => void asked++;
    const released = await elected({ announce });
    await released.term.release();
    await expect(released.term.announce("x")).rejects.toMatchObject({ code: "HF_NOT_HELD" });
    const lost = await elected({ announce });
    lost.grant.listener({ type: "lost", reason: "stolen" });
    await expect(lost.term.announce("x")).rejects.toBe(lost.term.lost.reason);
    expect(asked).toBe(0);
  });

  it("passes the backend's error on, unless the term is over", async () => {
    const { term } = await elected({ announce: () => Promise.reject(refusal()) });
    await expect(term.announce("x")).rejects.toMatchObject({ message: "not you" });
    const gone = await elected({
      announce: async () => {
        gone.grant.listener({ type: "lost", reason: "stolen" });
        throw refusal();
      },
    });
    await expect(gone.term.announce("x")).rejects.toMatchObject({ code: "HF_LOCK_LOST", reason: "stolen" });
    const resigned = await elected({
      announce: async () => {
        await resigned.term.release();
        throw refusal();
      },
    });
    await expect(resigned.term.announce("x")).rejects.toMatchObject({ code: "HF_NOT_HELD" });
  });

  it("shows in inspect of the provider that announced", async () => {
    const locks = memoryLocks();
    const election = locks.leaderElection("e");
    const term = await election.campaign({ label: "before" });
    await term.announce("after");
    expect((await election.participants())[0]?.label).toBe("after");
    const view = election as unknown as { inspect(): Promise<LockSnapshot> };
    expect((await view.inspect()).held[0]).toMatchObject({ label: "after", owner: term.owner });
  });
});
