import type { LockHandle, LockProvider } from "@holdfast/core";
import type { Fixture } from "@holdfast/core/testing";
import type { RedisLocks } from "@holdfast/redis-recipes";
import { deskOf } from "@holdfast/redis-recipes/internal";
import type { RedisNode } from "@holdfast/test-servers";
import { singleFixture } from "../mutex/fixture.js";

type Desk = NonNullable<ReturnType<typeof deskOf>>;

export interface HiddenParts {
  loseHold(node: RedisNode, handle: LockHandle): Promise<void>;
  /** How many of one provider wait for `name`. */
  waiting?(desk: Desk, name: string): number;
  readonly anonymous?: boolean;
  /** Changes each provider before it is used. */
  adapt?(provider: RedisLocks): void;
}

/** A server for kinds whose waiters leave no trace in it: the providers count them. */
export async function hiddenFixture(node: RedisNode, parts: HiddenParts): Promise<Fixture> {
  const fixture = await singleFixture(node, { loseHold: parts.loseHold });
  const desks: Desk[] = [];
  const { waiting } = parts;
  return {
    ...fixture,
    anonymous: parts.anonymous === true,
    async provider(): Promise<LockProvider> {
      const provider = await fixture.provider();
      parts.adapt?.(provider as RedisLocks);
      desks.push(deskOf(provider) as Desk);
      return provider;
    },
    ...(waiting && {
      waiting: (name: string) => desks.reduce((sum, desk) => sum + waiting(desk, name), 0),
    }),
  };
}
