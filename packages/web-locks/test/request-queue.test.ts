import type { AcquireOptions, LockHandle, ReadWriteLock } from "@holdfast/core";
import { expect, it } from "vitest";
import { type Request, RequestQueue } from "../src/request-queue.js";

/** A lock whose acquires are granted by the test, also after the request was withdrawn: a grant may be on its way just then. */
function answeredByHand() {
  const asked: { readonly signal: AbortSignal | undefined; grant(): void }[] = [];
  const disposed: number[] = [];
  const acquire = ({ signal }: AcquireOptions): Promise<LockHandle> =>
    new Promise((resolve) => {
      const nth = asked.length;
      const handle = { [Symbol.asyncDispose]: async () => void disposed.push(nth) } as unknown as LockHandle;
      asked.push({ signal, grant: () => resolve(handle) });
    });
  return { asked, disposed, lock: { write: { acquire } } as unknown as ReadWriteLock };
}

function request(what: string, told: string[], more: Partial<Request> = {}): Request {
  return {
    name: "a",
    mode: "exclusive",
    ifAvailable: false,
    steal: false,
    signal: undefined,
    granted: () => told.push(`${what} granted`),
    failed: (error) => told.push(`${what} failed: ${error}`),
    ...more,
  };
}

it("a grant that comes although its request was called back is given back, and the request rejects with the signal's reason", async () => {
  const { asked, disposed, lock } = answeredByHand();
  const queue = new RequestQueue(lock);
  const told: string[] = [];
  const first = request("first", told);
  queue.add(first);
  queue.add(request("second", told));
  queue.withdraw(first, "gone");
  expect(asked[0]?.signal?.aborted).toBe(true);
  asked[0]?.grant();
  await expect.poll(() => asked.length).toBe(2);
  asked[1]?.grant();
  await expect.poll(() => told).toEqual(["first failed: gone", "second granted"]);
  expect(disposed).toEqual([0]);
});

it("a grant that comes while another request steals is given back, and its request is asked again behind that", async () => {
  const { asked, disposed, lock } = answeredByHand();
  const queue = new RequestQueue(lock);
  const told: string[] = [];
  queue.add(request("first", told));
  queue.add(request("second", told));
  queue.add(request("thief", told, { steal: true }));
  for (let nth = 0; nth < 4; nth++) {
    await expect.poll(() => asked.length).toBe(nth + 1);
    asked[nth]?.grant();
  }
  await expect.poll(() => told).toEqual(["thief granted", "first granted", "second granted"]);
  expect(disposed).toEqual([0]);
});

it("a request that is withdrawn while another one steals is not asked again", async () => {
  const { asked, lock } = answeredByHand();
  const queue = new RequestQueue(lock);
  const told: string[] = [];
  const first = request("first", told);
  queue.add(first);
  queue.add(request("thief", told, { steal: true }));
  queue.withdraw(first, "gone");
  for (let nth = 0; nth < 2; nth++) {
    await expect.poll(() => asked.length).toBe(nth + 1);
    asked[nth]?.grant();
  }
  await expect.poll(() => told).toEqual(["first failed: gone", "thief granted"]);
  expect(queue.pending).toEqual([]);
});

it("a request that was put back goes before those behind it when the one that stole has given up, and behind all that steal", async () => {
  const { asked, lock } = answeredByHand();
  const queue = new RequestQueue(lock);
  const told: string[] = [];
  queue.add(request("first", told));
  queue.add(request("second", told));
  const thief = request("thief", told, { steal: true });
  queue.add(thief);
  queue.withdraw(thief, "gone");
  asked[0]?.grant();
  for (const nth of [1, 2]) {
    await expect.poll(() => asked.length).toBe(nth + 1);
    asked[nth]?.grant();
  }
  await expect.poll(() => told).toEqual(["thief failed: gone", "first granted", "second granted"]);
});
