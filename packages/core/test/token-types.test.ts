import {
  type Acquirable,
  type AnyToken,
  type FencingToken,
  type LockHandle,
  type LockProvider,
  type Mutex,
  memoryLocks,
} from "@holdfast/core";
import { describe, expect, expectTypeOf, it } from "vitest";

/** The token of a handle that was acquired from `L`. */
type TokenOf<L extends { acquire(): Promise<{ readonly token: AnyToken }> }> = Awaited<
  ReturnType<L["acquire"]>
>["token"];

// These are checks for the compiler: `npm run typecheck` fails where a type is wrong.
describe("the type of a fencing token", () => {
  it("may be null for any provider, and is a bigint for one that always has tokens, of every kind of lock", () => {
    expectTypeOf<LockHandle["token"]>().toEqualTypeOf<bigint | null>();
    expectTypeOf<TokenOf<Mutex>>().toEqualTypeOf<AnyToken>();
    type Fenced = LockProvider<FencingToken>;
    expectTypeOf<TokenOf<ReturnType<Fenced["mutex"]>>>().toEqualTypeOf<bigint>();
    expectTypeOf<TokenOf<ReturnType<Fenced["reentrantMutex"]>>>().toEqualTypeOf<bigint>();
    expectTypeOf<TokenOf<ReturnType<Fenced["readWriteLock"]>["read"]>>().toEqualTypeOf<bigint>();
    expectTypeOf<TokenOf<ReturnType<Fenced["readWriteLock"]>["write"]>>().toEqualTypeOf<bigint>();
    expectTypeOf<TokenOf<ReturnType<Fenced["reentrantReadWriteLock"]>["read"]>>().toEqualTypeOf<bigint>();
    expectTypeOf<TokenOf<ReturnType<Fenced["semaphore"]>>>().toEqualTypeOf<bigint>();
    expectTypeOf<ReturnType<Fenced["holds"]>[number]["token"]>().toEqualTypeOf<bigint>();
    type Term = Awaited<ReturnType<ReturnType<Fenced["leaderElection"]>["campaign"]>>;
    expectTypeOf<Term["token"]>().toEqualTypeOf<bigint>();
  });

  it("lets what always has tokens stand where any will do, and not the other way round", () => {
    expectTypeOf<LockProvider<FencingToken>>().toExtend<LockProvider>();
    expectTypeOf<Mutex<FencingToken>>().toExtend<Acquirable>();
    expectTypeOf<LockProvider>().not.toExtend<LockProvider<FencingToken>>();
  });

  it("is a bigint in memory, in a handle, in a scope and after a downgrade, and the factory shows no class", async () => {
    expectTypeOf(memoryLocks).returns.toEqualTypeOf<LockProvider<FencingToken>>();
    await using locks = memoryLocks();
    const write = await locks.readWriteLock("prices").write.acquire();
    const read = await write.downgrade();
    expectTypeOf(read.token).toEqualTypeOf<bigint>();
    const next: bigint = await locks.mutex("orders/42").withLock(({ token }) => token + 1n);
    expect([typeof read.token, typeof next]).toEqual(["bigint", "bigint"]);
  });
});
