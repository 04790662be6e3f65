import { describe, expect, it } from "vitest";
import { linesOf } from "../../page/src/format/cluster-lines.js";
import { leaseLeft, lostContact, sessionTimeout } from "../../page/src/format/contact.js";
import { ago, due } from "../../page/src/format/duration.js";
import { lampOf } from "../../page/src/format/lamp.js";
import type { ClusterRow, SessionContact } from "../../src/contract/api.js";
import { fakeParticipant } from "../fake-collector.js";

type Source = ClusterRow["sources"][number];

const source = (name: string, state: string, message: string | null = null): Source => ({
  source: name,
  state,
  coverage: 1,
  lastSuccessMs: 1_000,
  nextTryMs: null,
  cost: null,
  message,
});

function cluster(
  state: ClusterRow["state"],
  sources: Source[] = [],
  more: Partial<ClusterRow> = {},
): ClusterRow {
  return {
    name: "a",
    backend: "redis",
    state,
    locks: 1,
    coverage: 1,
    lastSuccessMs: 1_000,
    sources,
    schedules: false,
    ...more,
  };
}

describe("the lamp in the head of the page", () => {
  const word = (...given: Parameters<typeof lampOf>): string => lampOf(...given).word;

  it("is live only while the stream is live and every cluster on the page is well", () => {
    expect(word("live", [cluster("ok"), cluster("ok")])).toBe("live");
    expect(word("live", [cluster("ok"), cluster("stale")])).toBe("stale");
    expect(word("live", [cluster("down"), cluster("stale")])).toBe("down");
    expect(word("live", [cluster("syncing")])).toBe("resyncing");
    expect(word("live", [cluster("ok", [source("watch /a", "denied")])])).toBe("not all readable");
    expect(word("live", null)).toBe("connecting");
  });

  it("shows the stream where that is as bad or worse, and that the page is paused before all", () => {
    expect(word("reconnecting", [cluster("ok")])).toBe("reconnecting");
    expect(word("polling", [cluster("stale")])).toBe("every 10 s");
    expect(word("polling", [cluster("down")])).toBe("down");
    expect(word("connecting", [cluster("stale")])).toBe("stale");
    expect(word("paused", [cluster("down")])).toBe("paused");
  });

  it("has a look of its own for what is bad, so that green is never shown beside trouble", () => {
    const looks = (["stale", "down", "starting", "syncing"] as const).map(
      (state) => lampOf("live", [cluster(state)]).look,
    );
    expect(looks).toEqual(["warn", "bad", "wait", "wait"]);
  });
});

describe("the line about a cluster in trouble", () => {
  const lost = "no contact with Redis: connecting again";

  it("gives one reason that several sources share once, as one sentence, and no time of a next try", () => {
    const sources = [source("scan", "stale", lost), source("pubsub", "stale", lost)];
    const retried = sources.map((each) => ({ ...each, nextTryMs: 5_000 }));
    expect(linesOf(cluster("stale", retried), 6_000)).toEqual([
      {
        id: "a",
        tone: "warn",
        text: "redis a: stale. no contact with Redis: connecting again.",
        running: "Lists show the state of 5 s ago",
      },
    ]);
  });

  it("names the sources where their reasons differ, and ends no sentence twice", () => {
    const sources = [source("scan", "down", "Loading."), source("pubsub", "down", lost)];
    const [line] = linesOf(cluster("down", sources), 6_000);
    expect(line?.text).toBe(`redis a: down. scan: Loading. pubsub: ${lost}.`);
  });

  it("says that nothing is known where nothing was ever read", () => {
    expect(linesOf(cluster("down", [], { lastSuccessMs: null }), 6_000)[0]?.running).toBe(
      "Nothing is known yet",
    );
  });

  it("shows no age in milliseconds and no try that is overdue", () => {
    expect([ago(0), ago(-40), ago(999), ago(5_000)]).toEqual([
      "less than 1 s ago",
      "less than 1 s ago",
      "less than 1 s ago",
      "5 s ago",
    ]);
    expect([due(-3_000), due(0), due(41_000)]).toEqual(["now", "now", "in 41 s"]);
  });
});

describe("a holder on the page of its lock", () => {
  const holder = fakeParticipant({ entry: "h", session: "0x1" });
  const contact = (more: Partial<SessionContact>): { contacts: SessionContact[] } => ({
    contacts: [{ id: "0x1", state: "suspended", timeoutMs: 18_000, endsMs: 20_000, ...more }],
  });

  it("whose session is suspended has lost its connection, and ends within a time that runs down", () => {
    expect(lostContact(holder, contact({}), 2_000)).toBe("connection lost, ends within 18 s");
    expect(lostContact(holder, contact({}), 19_400)).toBe("connection lost, ends within 1 s");
    expect(lostContact(holder, contact({}), 20_000)).toBe("connection lost, ends at any moment");
    expect(lostContact(holder, contact({ timeoutMs: null, endsMs: null }), 2_000)).toBe(
      "connection lost, ends when its session runs out",
    );
  });

  it("is shown without that while it is connected, and where no server knows its connection", () => {
    expect(lostContact(holder, contact({ state: "connected", endsMs: null }), 2_000)).toBeNull();
    expect(lostContact(holder, contact({ state: "unknown", endsMs: null }), 2_000)).toBeNull();
    expect(lostContact(holder, { contacts: [] }, 2_000)).toBeNull();
  });

  it("shows what is left of its lease as that runs down, and nothing once it is over", () => {
    const left = (nowMs: number, remainingMs: number | null = 30_000): string | null =>
      leaseLeft({ remainingMs }, { readMs: 1_000 }, nowMs);
    expect([left(0), left(1_000), left(20_500), left(30_999)]).toEqual([
      "30 s left",
      "30 s left",
      "11 s left",
      "1 s left",
    ]);
    expect([left(31_000), left(90_000), left(1_000, null)]).toEqual([null, null, null]);
  });

  it("keeps the time-out of its session when the connection is lost", () => {
    expect(sessionTimeout(holder, contact({}))).toBe("18 s");
    expect(sessionTimeout(holder, { contacts: [] })).toBeNull();
  });
});
