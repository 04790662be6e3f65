import { type FencingToken, type LockProvider, type RedisLocks, redisLocks } from "@holdfast/redis-recipes";
import { expectTypeOf, it } from "vitest";

type Token<A extends { acquire(): Promise<{ readonly token: unknown }> }> = Awaited<
  ReturnType<A["acquire"]>
>["token"];

it("every lock of Redis has a token, and its handles say so to the compiler", () => {
  expectTypeOf(redisLocks).returns.toEqualTypeOf<RedisLocks>();
  expectTypeOf<RedisLocks>().toExtend<LockProvider<FencingToken>>();
  expectTypeOf<Token<ReturnType<RedisLocks["semaphore"]>>>().toEqualTypeOf<bigint>();
  expectTypeOf<Token<ReturnType<RedisLocks["permitSemaphore"]>>>().toEqualTypeOf<bigint>();
  expectTypeOf<Token<ReturnType<RedisLocks["plainSemaphore"]>>>().toEqualTypeOf<bigint>();
  expectTypeOf<Token<ReturnType<RedisLocks["fairMutex"]>>>().toEqualTypeOf<bigint>();
  expectTypeOf<Token<ReturnType<RedisLocks["spinMutex"]>>>().toEqualTypeOf<bigint>();
});
