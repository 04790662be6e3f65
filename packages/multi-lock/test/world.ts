import type { Fixture } from "@holdfast/conformance";
import {
  type Grant,
  type LockProvider,
  MemorySpace,
  memoryLocks,
  type Runtime,
  type Ticket,
  type TicketProgress,
} from "@holdfast/core";
import { viewPartsOf } from "@holdfast/core/internal";
import { memoryControls } from "@holdfast/core/testing";

/** Whether the providers can queue several locks in one step. */
export type Together = "one by one" | "all at once";

export interface WorldOptions {
  readonly how?: "session" | "theft";
  readonly together?: Together;
  readonly runtime?: Runtime;
  readonly space?: MemorySpace;
}

/** A memory provider. Its places are taken within one tick, so several of them are one step to everybody else. */
export function worldProvider({ together, runtime, space = new MemorySpace() }: WorldOptions): LockProvider {
  const provider = memoryLocks({ space, ...(runtime === undefined ? {} : { runtime }) });
  if (together === "all at once") addRequestAll(provider);
  return provider;
}

/** Memory providers on one space. Holds are lost by ending the session of their provider, or by theft. */
export function worldFixture(options: WorldOptions): Fixture {
  const { how = "session", runtime, space = new MemorySpace() } = options;
  const providers: LockProvider[] = [];
  return {
    ...(runtime === undefined ? {} : { runtime }),
    async provider() {
      const provider = worldProvider({ ...options, space });
      providers.push(provider);
      return provider;
    },
    async loseHold(handle) {
      const holder = providers.find((each) => each.holds().some((held) => held.owner === handle.owner));
      if (holder === undefined) throw new Error("nobody holds that");
      const controls = memoryControls(holder);
      if (how === "theft") {
        if (!controls.stealHold(handle)) throw new Error("nothing was there to steal");
        return;
      }
      controls.expire();
      controls.reconnect();
    },
    async partition(provider) {
      const controls = memoryControls(provider);
      controls.suspend();
      return { [Symbol.dispose]: () => controls.reconnect() };
    },
  };
}

/** How often the providers of `addRequestAll` were asked for several locks at once, and how often they said no. */
export const jointly = { asked: 0, refused: 0 };

function addRequestAll(provider: LockProvider): void {
  const driver = viewPartsOf(provider.mutex("any"))?.engine.driver;
  if (driver === undefined) throw new Error("memoryLocks() gave views that are not core's");
  driver.requestAll = (requests, progress = silent) => {
    jointly.asked++;
    return new JointTicket(requests.map((request) => driver.request(request, progress)));
  };
}

const silent: TicketProgress = {
  waiting: () => {},
  notified: () => {},
  requeued: () => {},
  sequenceHigh: () => {},
};

class JointTicket implements Ticket<readonly Grant[]> {
  readonly granted: Promise<readonly Grant[] | null>;
  readonly #tickets: readonly Ticket[];

  constructor(tickets: readonly Ticket[]) {
    this.#tickets = tickets;
    this.granted = Promise.all(tickets.map((ticket) => ticket.granted)).then(async (grants) => {
      const there = grants.filter((grant) => grant !== null);
      if (there.length === grants.length) return there;
      jointly.refused++;
      await this.cancel();
      return null;
    });
  }

  async cancel(): Promise<void> {
    await Promise.all(this.#tickets.map((ticket) => ticket.cancel()));
  }
}
