import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { linkTo, parseShared } from "../../page/src/url/links.js";
import {
  backends,
  everything,
  isFiltered,
  type LocksView,
  locksApiQuery,
  locksViewQuery,
  parseLocksView,
  sorts,
  states,
} from "../../page/src/url/view-query.js";

const word = fc.string({ unit: "grapheme", maxLength: 60 });
const cursors = fc.option(
  fc.record({
    cursor: fc.string({ minLength: 1, maxLength: 60 }),
    from: fc.integer({ min: 1, max: 1_000_000 }),
  }),
  { nil: { cursor: null, from: 1 } },
);
const views: fc.Arbitrary<LocksView> = fc
  .tuple(
    fc.record({
      cluster: fc.option(fc.string({ minLength: 1, maxLength: 40 })),
      backend: fc.option(fc.constantFrom(...backends)),
      q: word,
      state: fc.option(fc.constantFrom(...states)),
      kind: fc.option(fc.string({ minLength: 1, maxLength: 40 })),
      owner: word,
      minAgeMs: fc.option(fc.integer({ min: 1, max: 2 ** 40 })),
      sort: fc.constantFrom(...sorts),
    }),
    cursors,
  )
  .map(([view, cursor]) => ({ ...view, ...cursor }));

describe("the query string of a list", () => {
  it("brings every view back as it was, through a link", () => {
    fc.assert(
      fc.property(views, fc.constantFrom("utc", "local"), (view, zone) => {
        const link = linkTo(
          "/a/b/",
          "locks",
          { cluster: view.cluster, zone: zone === "utc" ? "utc" : "local" },
          locksViewQuery(view),
        );
        const { pathname, search } = new URL(link, "http://host");
        expect(pathname).toBe("/a/b/locks");
        expect(parseLocksView(search)).toEqual(view);
        expect(parseShared(search)).toEqual({ cluster: view.cluster, zone });
      }),
    );
  });
  it("takes anything for a view, and never fails", () => {
    fc.assert(
      fc.property(fc.webQueryParameters(), (search) => {
        const view = parseLocksView(`?${search}`);
        expect(sorts).toContain(view.sort);
        expect(view.from).toBeGreaterThanOrEqual(1);
      }),
    );
    expect(parseLocksView("?state=gone&sort=luck&backend=etcd&minAge=-1&from=9&q=")).toEqual(everything);
    expect(parseLocksView("?minAge=1e9&cursor=&from=-3")).toEqual(everything);
  });
  it("of the plain view is empty", () => {
    expect(linkTo("/", "locks", { cluster: null, zone: "local" }, locksViewQuery(everything))).toBe("/locks");
  });
  it("cuts what the API would refuse as too long", () => {
    const { q, owner } = parseLocksView(`?q=${"x".repeat(2000)}&owner=${"y".repeat(2000)}`);
    expect([q.length, owner.length]).toEqual([512, 512]);
  });
});

describe("the question to the API", () => {
  it("names only what filters", () => {
    expect(locksApiQuery(everything)).toEqual({ sort: "waiters", limit: 100 });
    expect(locksApiQuery({ ...everything, q: "order:*", minAgeMs: 5000, cursor: "c", from: 101 })).toEqual({
      q: "order:*",
      minAgeMs: 5000,
      cursor: "c",
      sort: "waiters",
      limit: 100,
    });
  });
  it("counts a cluster, an order and a cursor as no filter", () => {
    expect(isFiltered({ ...everything, cluster: "prod", sort: "name", cursor: "c", from: 101 })).toBe(false);
    expect(isFiltered({ ...everything, owner: "pay" })).toBe(true);
  });
});
