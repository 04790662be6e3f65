import {
  type FencingToken,
  type LockProvider,
  type ZooKeeperLocks,
  zookeeperLocks,
} from "@holdfast/zk-recipes";
import { expectTypeOf, it } from "vitest";

type Token<A extends { acquire(): Promise<{ readonly token: unknown }> }> = Awaited<
  ReturnType<A["acquire"]>
>["token"];

it("every lock of ZooKeeper has a token, and its handles say so to the compiler", () => {
  expectTypeOf(zookeeperLocks).returns.toEqualTypeOf<ZooKeeperLocks>();
  expectTypeOf<ZooKeeperLocks>().toExtend<LockProvider<FencingToken>>();
  expectTypeOf<Token<ReturnType<ZooKeeperLocks["semaphore"]>>>().toEqualTypeOf<bigint>();
  expectTypeOf<Token<ReturnType<ZooKeeperLocks["semaphoreMutex"]>>>().toEqualTypeOf<bigint>();
  expectTypeOf<Token<ReturnType<ZooKeeperLocks["naiveMutex"]>>>().toEqualTypeOf<bigint>();
});
