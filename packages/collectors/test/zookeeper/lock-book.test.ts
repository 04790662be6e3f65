import { systemRuntime } from "@holdfast/core";
import { expect, it } from "vitest";
import { LockBook } from "../../src/zookeeper/lock-book.js";
import type { Place } from "../../src/zookeeper/place.js";

const nothing = (): void => {};

function bookOf(): LockBook {
  return new LockBook({
    ...{ runtime: systemRuntime, identifyHolders: true, isNaive: () => false, earlierSight: () => undefined },
    ...{ emit: nothing, want: nothing, wantSelf: nothing, forget: nothing },
  });
}

/** Gives the book what it asks for of a place. */
function read(book: LockBook, place: Place): void {
  for (const asked of book.nodesToRead(place))
    book.got(asked, { name: asked.name as string, stat: null, data: null });
}

it("forgets the nodes of a semaphore's permits when they go", () => {
  const book = bookOf();
  for (const path of ["/r", "/r/s", "/r/s/locks", "/r/s/leases", "/r/s/locks/a-lock-0000000099"])
    book.mirror.created(path);
  const place = book.mirror.get("/r/s") as Place;
  for (let nth = 0; nth < 100; nth++) {
    const path = `/r/s/leases/a-lease-${String(nth).padStart(10, "0")}`;
    book.mirror.created(path);
    book.settleAll();
    read(book, place);
    book.mirror.deleted(path);
    book.settleAll();
  }
  expect([...(place.known?.values() ?? [])].map(({ name }) => name)).toEqual(["a-lock-0000000099"]);
});
