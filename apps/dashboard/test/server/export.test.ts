import { type IncomingMessage, request } from "node:http";
import { visible } from "@holdfast/collectors/internal";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { LockRow } from "../../src/contract/api.js";
import { csvLine, visibleJson } from "../../src/core/export/cells.js";
import { exportHead, writtenExport } from "../../src/core/export/written.js";
import { sortInTurns } from "../../src/core/sort-in-turns.js";
import { fakeLock, fakeParticipant } from "../fake-collector.js";
import { soon } from "../soon.js";
import { watchLoop } from "./loop-stalls.js";
import { as, changing, type Serving, serving } from "./serving.js";

/** Parses CSV strictly by RFC 4180. */
function parsed(csv: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  for (let at = 0; at < csv.length; ) {
    let cell = "";
    if (csv[at] === '"') {
      for (at += 1; csv[at] !== '"' || csv[at + 1] === '"'; at += 1) {
        if (at >= csv.length) throw new Error("a quote is not closed");
        if (csv[at] === '"') at += 1;
        cell += csv[at];
      }
      at += 1;
    } else {
      const end = /[,\r\n"]|$/.exec(csv.slice(at))?.index ?? 0;
      cell = csv.slice(at, at + end);
      at += end;
    }
    row.push(cell);
    if (csv[at] === ",") at += 1;
    else if (csv.slice(at, at + 2) === "\r\n") {
      rows.push(row);
      row = [];
      at += 2;
    } else throw new Error(`neither a comma nor the end of a line: ${JSON.stringify(csv.slice(at, at + 9))}`);
  }
  return rows;
}

/** The rows, each with its values by column name. */
function table(csv: string): Record<string, string>[] {
  const [head = [], ...rows] = parsed(csv);
  return rows.map((row) => Object.fromEntries(head.map((name, at) => [name, row[at] ?? ""])));
}

const get = ({ app }: Serving, path: string, headers: Record<string, string> = as("viewer")) =>
  app.inject({ url: `/api/v1/${path}`, headers });

const lists = ["locks", "sessions", "findings", "audit", "waits"];

/** Puts something into each list. */
async function furnish(dashboard: Serving): Promise<void> {
  const { zookeeper, redis, app } = dashboard;
  zookeeper.put({
    key: "/locks/a",
    holders: [
      fakeParticipant({ entry: "h1", session: "0x1", identity: { label: "pay", host: "h", pid: 7 } }),
    ],
    waiters: [fakeParticipant({ entry: "w1", session: "0x2", position: 0 })],
    oldestHold: { atMs: 1_000, provenance: "at-least" },
  });
  zookeeper.put({ key: "/locks/b" });
  redis.put({ key: "order:1", holders: [fakeParticipant({ entry: "h2" })] });
  zookeeper.sessionList = [
    {
      ...{ id: "0x1", backend: "zookeeper", server: "zk-1", address: "10.0.0.7:1", timeoutMs: 20_000 },
      identity: { label: "pay", host: "h", pid: 7 },
      established: { atMs: 1, provenance: "exact" },
      lastSeen: { atMs: null, provenance: "unknown" },
      ...{ holds: ["/locks/a"], waits: [], state: "connected" },
    },
    {
      ...{ id: "0x2", backend: "zookeeper", server: "zk-1", address: "10.0.0.8:1", timeoutMs: 20_000 },
      identity: null,
      established: { atMs: 1, provenance: "exact" },
      lastSeen: { atMs: null, provenance: "unknown" },
      ...{ holds: [], waits: ["/locks/a", "/locks/b"], state: "unknown" },
    },
  ];
  zookeeper.findingList = [
    {
      ...{ id: "one", kind: "long-hold", severity: "warning", object: "/locks/a", sinceMs: 2_000 },
      ...{ evidence: "held, for long", advice: "look" },
    },
  ];
  await soon(async () => (await get(dashboard, "findings")).json().rows.length).toBe(1);
  const { id } = (await get(dashboard, "locks?q=/locks/a")).json().rows[0] as LockRow;
  await app.inject({
    ...{ method: "POST", url: `/api/v1/locks/${id}/actions`, headers: await changing(app, "admin") },
    payload: {
      ...{ action: "force-release", entry: "h1", expectedVersion: "h1", confirmation: "", reason: "a test" },
      dryRun: true,
    },
  });
}

describe("the export of a list", () => {
  it.each(lists)(
    "%s: CSV and JSON have the rows of the list, a name with cluster and time, and are never opened as a page",
    async (list) => {
      await using dashboard = await serving();
      await furnish(dashboard);
      const own = (await get(dashboard, list)).json();
      const wanted: unknown[] = list === "waits" ? own.edges : [...own.rows, ...(own.past ?? [])];
      expect(wanted.length).toBeGreaterThan(0);
      const json = await get(dashboard, `export/${list}?format=json`);
      expect(json.headers["content-type"]).toBe("application/json; charset=utf-8");
      const { rows, ...head } = json.json();
      expect(head).toEqual({
        ...{
          list,
          nowMs: expect.any(Number),
          total: wanted.length,
          limit: 100_000,
          complete: true,
          notes: [],
        },
      });
      // The list of sessions is not sorted; the page sorts it.
      const byId = (a: { id?: string }, b: { id?: string }) => ((a.id ?? "") < (b.id ?? "") ? -1 : 1);
      expect(rows.sort(byId)).toMatchObject(wanted.sort(byId as never) as object[]);
      const csv = await get(dashboard, `export/${list}?format=csv`);
      expect(csv.headers["content-type"]).toBe("text/csv; charset=utf-8; header=present");
      expect(table(csv.body)).toHaveLength(wanted.length);
      for (const [format, answer] of [
        ["json", json],
        ["csv", csv],
      ] as const) {
        expect(answer.statusCode).toBe(200);
        expect(answer.headers).toMatchObject({
          "x-content-type-options": "nosniff",
          "cache-control": "no-store",
          "x-holdfast-total": String(wanted.length),
          "x-holdfast-limit": "100000",
          "x-holdfast-complete": "yes",
          "content-disposition": expect.stringMatching(
            new RegExp(`^attachment; filename="holdfast-${list}-all-\\d{8}T\\d{6}Z\\.${format}"$`),
          ),
        });
      }
    },
  );

  it("takes the filters and the order of the list, and refuses what the list refuses", async () => {
    await using dashboard = await serving();
    await furnish(dashboard);
    const names = async (query: string): Promise<unknown> =>
      table((await get(dashboard, `export/locks?format=csv&${query}`)).body).map(({ name }) => name);
    expect(await names("")).toEqual(["/locks/a", "/locks/b", "order:1"]);
    expect(await names("sort=name&backend=redis")).toEqual(["order:1"]);
    expect(await names("cluster=zoo")).toEqual(["/locks/a", "/locks/b"]);
    expect(await names("q=*a&state=contended")).toEqual(["/locks/a"]);
    expect(await names("owner=pay")).toEqual(["/locks/a"]);
    const sessions = async (query: string): Promise<unknown> =>
      table((await get(dashboard, `export/sessions?format=csv&${query}`)).body).map(({ session }) => session);
    expect(await sessions("")).toEqual(["0x2", "0x1"]);
    expect(await sessions("q=PAY")).toEqual(["0x1"]);
    expect(await sessions("cluster=red")).toEqual([]);
    for (const list of lists) {
      expect((await get(dashboard, `export/${list}?format=csv&cluster=none`)).statusCode, list).toBe(404);
      expect((await get(dashboard, `export/${list}`)).statusCode, list).toBe(400);
      expect((await get(dashboard, `export/${list}?format=xml`)).statusCode, list).toBe(400);
      expect((await get(dashboard, `export/${list}?format=csv&limit=5`)).statusCode, list).toBe(400);
    }
    const red = await get(dashboard, "export/findings?format=csv&cluster=red");
    expect(table(red.body)).toEqual([]);
    expect(red.headers["content-disposition"]).toContain("holdfast-findings-red-");
  });

  it("says what is known of each lock in words that a spreadsheet sorts", async () => {
    await using dashboard = await serving();
    await furnish(dashboard);
    const [row] = table((await get(dashboard, "export/locks?format=csv")).body);
    expect(row).toMatchObject({
      ...{ cluster: "zoo", backend: "zookeeper", name: "/locks/a", kind: "mutex", state: "contended" },
      ...{ holders: "pay (h pid 7)", holder_sessions: "0x1", holder_count: "1" },
      ...{ held_since: "1970-01-01T00:00:01.000Z", held_since_is: "at-least", waiter_count: "1" },
      ...{ waited_since: "", waited_since_is: "unknown" },
    });
  });

  it("says that rows are missing where a backend cannot be read", async () => {
    await using dashboard = await serving();
    await furnish(dashboard);
    dashboard.zookeeper.failure = new Error("away");
    await soon(async () => (await get(dashboard, "sessions")).json().rows.length).toBe(0);
    const answer = await get(dashboard, "export/sessions?format=json");
    expect(answer.json()).toMatchObject({ complete: false, notes: ["zoo: away"], rows: [] });
    expect(answer.headers["x-holdfast-complete"]).toBe("no");
    expect(answer.headers["content-disposition"]).toMatch(/-incomplete\.json"$/);
  });

  it("says that locks may be missing or old while a source of their list is not heard, in the clusters asked for alone", async () => {
    await using dashboard = await serving();
    await furnish(dashboard);
    const { zookeeper } = dashboard;
    zookeeper.sourceList = zookeeper.sourceList.map((each) => ({ ...each, state: "stale" }));
    const answer = await get(dashboard, "export/locks?format=json");
    expect(answer.json()).toMatchObject({
      complete: false,
      notes: ["zoo is stale: rows may be missing or old"],
    });
    expect(answer.headers["x-holdfast-complete"]).toBe("no");
    const red = await get(dashboard, "export/locks?format=json&cluster=red");
    expect(red.json()).toMatchObject({ complete: true, notes: [] });
  });

  it("says that waits cannot be seen, in the clusters asked for alone", async () => {
    await using dashboard = await serving();
    const connections = { state: "contended", waiterCount: 3, waiterUnit: "connections" } as const;
    dashboard.redis.put({ key: "r", ...connections });
    const complete = async (cluster: string): Promise<unknown> =>
      (await get(dashboard, `export/waits?format=json&cluster=${cluster}`)).json().complete;
    expect([await complete("red"), await complete("zoo")]).toEqual([false, true]);
  });

  it("ends at its limit, and says so in headers, name and content", async () => {
    const rows = Array.from({ length: 5 }, (_, n) => ({ n }));
    const exported = {
      ...{
        list: "locks",
        cluster: "a/b",
        columns: { n: (row: { n: number }) => row.n },
        total: 5,
        notes: [],
      },
      rows,
    };
    const head = exportHead(exported, "csv", 0, 3);
    expect(head).toEqual({
      ...{ total: 5, limit: 3, complete: false },
      fileName: "holdfast-locks-a_b-19700101T000000Z-first-3-of-5.csv",
    });
    const text = async (format: "csv" | "json"): Promise<string> => {
      let all = "";
      for await (const piece of writtenExport(exported, head, format, 0)) all += piece;
      return all;
    };
    expect(await text("csv")).toBe("n\r\n0\r\n1\r\n2\r\n");
    expect(JSON.parse(await text("json"))).toMatchObject({
      total: 5,
      limit: 3,
      complete: false,
      rows: rows.slice(0, 3),
    });
  });
});

describe("what a name may do to a reader who opens the file", () => {
  const evil = [
    "=cmd|' /C calc'!A0",
    "+1+1",
    "-2+3",
    "@SUM(1)",
    "\t=1+1",
    "\r=1+1",
    "\n=1+1",
    "  =1+1",
    "\uff1d1+1",
    'a";=1+1;"',
    "order:\u202egnp.exe",
    "zero\u200bwidth",
    "line\r\nbreak",
    'he said "no", twice',
  ];

  it("a cell that begins a formula begins with an apostrophe, and nothing in it is hidden", async () => {
    await using dashboard = await serving();
    for (const key of evil)
      dashboard.redis.put({
        key,
        holders: [fakeParticipant({ entry: "h", identity: { label: key, host: key, pid: 1 } })],
      });
    const { body } = await get(dashboard, "export/locks?format=csv&sort=name");
    const rows = table(body);
    expect(rows).toHaveLength(evil.length);
    expect(visible(body.replaceAll("\r\n", ""))).toBe(body.replaceAll("\r\n", ""));
    for (const row of rows)
      for (const cell of Object.values(row))
        expect(cell).not.toMatch(/^\s*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/);
    const names = rows.map(({ name }) => name);
    for (const name of [
      "'=cmd|' /C calc'!A0",
      "'+1+1",
      "'-2+3",
      "'@SUM(1)",
      "'\\u{9}=1+1",
      "'\\u{d}=1+1",
      "'  =1+1",
      "'\uff1d1+1",
      'a";\'=1+1;"',
      "order:\\u{202e}gnp.exe",
      'he said "no", twice',
    ])
      expect(names).toContain(name);
  });

  it("in JSON a parser finds each name as it is, and a reader sees all of its characters", async () => {
    await using dashboard = await serving();
    for (const key of evil) dashboard.redis.put({ key });
    const { body } = await get(dashboard, "export/locks?format=json");
    expect(
      JSON.parse(body)
        .rows.map(({ key }: LockRow) => key)
        .sort(),
    ).toEqual([...evil].sort());
    expect(visible(body.replaceAll("\n", ""))).toBe(body.replaceAll("\n", ""));
    expect(body).toContain("order:\\u202egnp.exe");
  });

  it("holds for any text", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "binary" }), { minLength: 1 }), (cells) => {
        const line = csvLine(cells);
        const [row = [], ...more] = parsed(line);
        expect([row.length, more.length]).toEqual([cells.length, 0]);
        for (const cell of row) expect(cell).not.toMatch(/^\s*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/);
        expect(visible(line.slice(0, -2))).toBe(line.slice(0, -2));
        const json = visibleJson(cells);
        expect(JSON.parse(json)).toEqual(cells);
        expect(visible(json)).toBe(json);
      }),
    );
  });
});

/** An answer that is read only when the test asks for it. */
class Download {
  readonly #response: IncomingMessage;

  private constructor(response: IncomingMessage) {
    this.#response = response;
    response.on("error", () => {});
  }

  static begin(url: string, headers: Record<string, string>): Promise<Download> {
    return new Promise((resolve, reject) => {
      const asked = request(url, { agent: false, headers }, (response) => resolve(new Download(response)));
      asked.on("error", reject);
      asked.end();
    });
  }

  get status(): number | undefined {
    return this.#response.statusCode;
  }

  async text(): Promise<string> {
    let all = "";
    for await (const piece of this.#response.setEncoding("utf8")) all += piece;
    return all;
  }

  leave(): void {
    this.#response.destroy();
  }
}

describe("an export as work", () => {
  it("of 100,000 locks is made in short slices, between which other requests are served", async () => {
    await using dashboard = await serving();
    for (let n = 0; n < 100_000; n++)
      dashboard.zookeeper.details.set(
        `/locks/${n}`,
        fakeLock({
          key: `/locks/${n}`,
          holders: [fakeParticipant({ entry: `h${n % 97}` })],
          oldestHold: { atMs: (n * 7919) % 100_003, provenance: "exact" },
        }),
      );
    const url = await dashboard.app.listen({ host: "127.0.0.1", port: 0 });
    for (const format of ["csv", "json"]) {
      const loop = watchLoop();
      const answer = await fetch(`${url}/api/v1/export/locks?format=${format}&sort=hold`, {
        headers: as("viewer"),
      });
      let lines = 0;
      for await (const chunk of answer.body as unknown as AsyncIterable<Uint8Array>)
        for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) lines += 1;
      const { longestWorkMs, longestWallMs } = loop.end();
      console.log(
        `${format} of 100,000 locks: longest stall ${longestWorkMs} ms of work, ${longestWallMs} ms by the clock`,
      );
      expect(lines).toBe(format === "csv" ? 100_001 : 100_002);
      // Ten times what it is on a quiet machine. Without turns for others it would take a second.
      expect(longestWorkMs).toBeLessThan(250);
    }
  });

  it("one caller has two at once, an end by the client makes room, and a caller who loses the rights gets no more", async () => {
    const ada = { name: "ada", role: "viewer" as const, token: "ada-token-0123456789" };
    const bob = { name: "bob", role: "viewer" as const, token: "bob-token-0123456789" };
    let tokens = [ada, bob];
    await using dashboard = await serving({ tokens: () => tokens });
    // More than sockets buffer.
    for (let n = 0; n < 1_500; n++) {
      const key = `/locks/${n}${"x".repeat(8_000)}`;
      dashboard.zookeeper.details.set(key, fakeLock({ key }));
    }
    const url = await dashboard.app.listen({ host: "127.0.0.1", port: 0 });
    const ask = ({ token }: { readonly token: string }) =>
      Download.begin(`${url}/api/v1/export/locks?format=json`, { authorization: `Bearer ${token}` });
    const first = await ask(ada);
    const second = await ask(ada);
    const third = await ask(ada);
    const others = await ask(bob);
    expect([first, second, third, others].map(({ status }) => status)).toEqual([200, 200, 429, 200]);
    expect(JSON.parse(await third.text())).toMatchObject({ error: "too-many-exports" });
    second.leave();
    // Asks seldom, because only twenty exports are allowed in a minute.
    await expect
      .poll(
        async () => {
          const again = await ask(ada);
          again.leave();
          return again.status;
        },
        { interval: 700, timeout: 8_000 },
      )
      .toBe(200);
    tokens = [bob];
    const { server } = dashboard.app;
    const connections = (): Promise<number> =>
      new Promise((resolve, reject) =>
        server.getConnections((error, count) => (error === null ? resolve(count) : reject(error))),
      );
    // Only Bob's connection is left on the server. A client that does not read does not see the end of its own.
    await soon(connections).toBe(1);
    await expect(first.text()).rejects.toThrow("aborted");
    expect(JSON.parse(await others.text()).rows).toHaveLength(1_500);
  });

  it("sorts as the language does, in turns", async () => {
    const order = (a: [number, number], b: [number, number]): number => a[0] - b[0];
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat({ max: 50 }), { maxLength: 3_000, size: "max" }), async (values) => {
        const items = values.map((value, at): [number, number] => [value, at]);
        expect(await sortInTurns(items, order)).toEqual(items.toSorted(order));
      }),
      { numRuns: 30 },
    );
  });
});
