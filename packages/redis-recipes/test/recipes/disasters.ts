import type { Millis } from "@holdfast/core";
import type { Chance } from "./chance.js";
import type { Contended } from "./contended.js";
import { lockName } from "./contended.js";
import type { Figures } from "./figures.js";
import type { Oracle } from "./oracle.js";
import { passingError } from "./passing-error.js";
import type { SimulatedClient } from "./simulated-client.js";
import type { SimulatedRedis } from "./simulated-redis.js";

export interface Stage {
  readonly lock: Contended;
  readonly redis: SimulatedRedis;
  readonly clients: readonly SimulatedClient[];
  readonly chance: Chance;
  readonly oracle: Oracle;
  readonly figures: Figures;
  readonly acks: number;
  /** Ends the schedule with an error that happened in the background. */
  readonly failed: (error: unknown) => void;
  readonly say: (what: string) => void;
  readonly broken: (what: string) => never;
}

/** Random faults of clients, connections, clocks and masters, until they are stopped. */
export class Disasters {
  readonly #stage: Stage;
  /** Whether failovers and stepped clocks may happen too. In these the backend itself breaks what it had confirmed. */
  readonly #mayDisturb: boolean;
  #over = false;
  /** How far the server's clock was set back. Everything at the server lives that much longer. */
  backMs: Millis = 0;

  constructor(stage: Stage) {
    this.#stage = stage;
    this.#mayDisturb = stage.chance.of(0.5);
  }

  start(): void {
    this.#next();
    this.#replicate();
  }

  stop(): void {
    this.#over = true;
  }

  #next(): void {
    const { redis, chance } = this.#stage;
    redis.runtime.setTimer(chance.below(4_000), () => {
      if (this.#over) return;
      this.#one();
      this.#next();
    });
  }

  /** Replicates again and again, each time after up to 300 ms, so that the replica lags behind. */
  #replicate(): void {
    const { redis, chance } = this.#stage;
    redis.runtime.setTimer(chance.below(300), () => {
      if (this.#over) return;
      redis.replicate();
      this.#replicate();
    });
  }

  #one(): void {
    const { clients, chance, figures, say } = this.#stage;
    const client = chance.one(clients);
    const who = `client ${clients.indexOf(client)}`;
    switch (chance.below(11)) {
      case 0:
        if (clients.filter((each) => each.alive).length < 2) return;
        say(`${who} crashes`);
        figures.crashes++;
        client.crash();
        return;
      case 1:
      case 2: {
        const forMs = chance.below(chance.one([500, 6_000, 40_000]));
        say(`${who} stops for ${forMs} ms`);
        figures.pauses++;
        client.pause(forMs);
        return;
      }
      case 3:
      case 4:
      case 5:
        say(`${who} loses its connection`);
        figures.cuts++;
        this.#cut(client);
        return;
      case 6:
        client.line.cutSubscriptions();
        this.#mend(client, chance.below(3_000));
        return;
      case 7:
        if (this.#mayDisturb) this.#stepClock();
        return;
      case 8:
        if (this.#mayDisturb) this.#failOver();
        return;
      case 9:
        if (chance.of(0.4)) this.#force(client);
        return;
      default:
        if (chance.of(0.2)) this.#close(client);
    }
  }

  #stepClock(): void {
    const { redis, chance, figures, oracle, say } = this.#stage;
    const byMs = (chance.of(0.5) ? 1 : -1) * (1 + chance.below(chance.one([50, 5_000, 60_000])));
    say(`the server's clock is set by ${byMs} ms`);
    if (byMs > 0) figures.stepsForward++;
    else figures.stepsBack++;
    redis.offsetMs += byMs;
    this.backMs += Math.max(0, -byMs);
    oracle.disturb(byMs);
  }

  #failOver(): void {
    const { lock, redis, clients, chance, oracle, figures, acks, say, broken } = this.#stage;
    say("another master");
    figures.failovers++;
    // Mostly the new master's clock shows nearly the same time. Sometimes it is far behind or ahead.
    const clockMs = chance.of(0.8) ? chance.below(200) - 100 : chance.below(20_000) - 10_000;
    // On a clock that is ahead, leases with little time left are over.
    const held = clients.flatMap((client) =>
      client.valid.flatMap((handle) => (handle.remainingMs() > clockMs ? [{ client, handle }] : [])),
    );
    redis.failOver(clockMs);
    this.backMs += Math.max(0, -clockMs);
    const asked = acks > 0 && !oracle.disturbed && clockMs < 200;
    for (const { client, handle } of asked ? held : []) {
      const hold = client.state.holds.on(lock.keys.lock).find(({ token }) => token === handle.token);
      if (hold === undefined || oracle.wasRobbed(hold.spec.owner)) continue;
      // A grant that the replica has acknowledged must outlast the master.
      figures.keptByReplica++;
      if (redis.fieldsOf(lock.keys.lock).includes(hold.spec.field)) continue;
      broken(`the replica had acknowledged ${handle.token} and does not know it`);
    }
    oracle.disturb(Infinity);
    for (const client of clients) this.#cut(client);
  }

  /** An operator frees the lock while it is held. */
  #force(client: SimulatedClient): void {
    const { lock, clients, say, failed } = this.#stage;
    if (!client.alive) return;
    say(`client ${clients.indexOf(client)} frees it by force`);
    client.driver.force(lock.kind, lockName).catch((error: unknown) => {
      if (!passingError(error)) failed(error);
    });
  }

  /** Closes the client in an orderly way, while it waits and holds. */
  #close(client: SimulatedClient): void {
    const { clients, figures, say, failed } = this.#stage;
    if (clients.filter((each) => each.alive).length < 2 || !client.alive) return;
    say(`client ${clients.indexOf(client)} closes`);
    figures.closes++;
    client.close().catch(failed);
  }

  #cut(client: SimulatedClient): void {
    const { chance } = this.#stage;
    client.line.cut();
    if (chance.of(0.5)) client.line.cutSubscriptions();
    this.#mend(client, chance.below(chance.one([100, 5_000])));
  }

  #mend(client: SimulatedClient, afterMs: Millis): void {
    this.#stage.redis.runtime.setTimer(afterMs, () => client.runtime.setTimer(0, () => client.line.mend()));
  }
}
