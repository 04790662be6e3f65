import type { Millis } from "@holdfast/core";
import type { Peer } from "./peers.js";
import { durationText } from "./text.js";
import type { Backend, Workload } from "./workloads.js";

/** One workload on one backend, for these peers. */
export interface Step {
  readonly backend: Backend;
  readonly workload: Workload;
  readonly peers: readonly Peer[];
}

export interface Choice {
  readonly backends: readonly Backend[];
  readonly peers: readonly Peer[];
  readonly workloads: readonly Workload[];
  /** Whether this workload is wanted on this backend. */
  wanted(backend: Backend, workload: Workload): boolean;
}

/** The steps to measure, in their order. */
export function stepsOf({ backends, peers, workloads, wanted }: Choice): Step[] {
  return backends.flatMap((backend) =>
    workloads
      .filter((workload) => wanted(backend, workload))
      .map((workload) => ({
        backend,
        workload,
        peers: peers.filter(
          (peer) => peer.backend === backend && (workload.only?.includes(peer.name) ?? peer.named !== true),
        ),
      })),
  );
}

/**
 * What a peer of middle speed needs to connect and close one client, to call acquire in a queue, and for a hand-off
 * while it drains.
 */
const eachMs = { client: 10, waiter: 1, handOff: 1 } as const;
const connectMs: Millis = 200;
const queueMs: Millis = 300;

/** How long one round of one peer may take, as far as that can be known before it has run here. */
export function guessMs(workload: Workload, warmUpMs: Millis): Millis {
  const { kind, clients, owners, locks, forMs, drains } = workload;
  const connecting = connectMs + clients * eachMs.client;
  const draining = owners * eachMs.handOff;
  const standing = queueMs + owners * eachMs.waiter;
  if (kind === "idle") return connecting + standing + forMs + draining;
  if (kind === "queue") return connecting + (drains + 1) * (standing + draining);
  return connecting + warmUpMs + forMs + 2 * (owners > locks ? draining : 0);
}

interface Row {
  left: number;
  readonly guessMs: Millis;
  tookMs: Millis;
  done: number;
}

/** How many measurements are left, and how long they take: as long as earlier ones, or as guessed if there was none. */
export class Progress {
  readonly #rows = new Map<string, Row>();

  constructor(steps: readonly Step[], rounds: number, warmUpMs: Millis) {
    for (const { backend, workload, peers } of steps) {
      for (const { name } of peers) {
        this.#rows.set(keyOf(backend, workload.name, name), {
          ...{ left: rounds, guessMs: guessMs(workload, warmUpMs), tookMs: 0, done: 0 },
        });
      }
    }
  }

  get left(): number {
    return this.#sum(({ left }) => left);
  }

  get leftMs(): Millis {
    const guessed = this.#sum((row) => row.done * row.guessMs);
    const slower = guessed === 0 ? 1 : this.#sum(({ tookMs }) => tookMs) / guessed;
    return this.#sum(
      ({ left, done, tookMs, guessMs }) => left * (done > 0 ? tookMs / done : guessMs * slower),
    );
  }

  took(backend: Backend, workload: string, peer: string, tookMs: Millis): void {
    const row = this.#row(backend, workload, peer);
    row.left--;
    row.done++;
    row.tookMs += tookMs;
  }

  /** This peer does not try this workload again. */
  gaveUp(backend: Backend, workload: string, peer: string): void {
    this.#row(backend, workload, peer).left = 0;
  }

  toString(): string {
    return `${this.left} left, ${durationText(this.leftMs)}`;
  }

  #row(backend: Backend, workload: string, peer: string): Row {
    return this.#rows.get(keyOf(backend, workload, peer)) as Row;
  }

  #sum(of: (row: Row) => number): number {
    return [...this.#rows.values()].reduce((total, row) => total + of(row), 0);
  }
}

function keyOf(backend: Backend, workload: string, peer: string): string {
  return `${backend} ${workload} ${peer}`;
}

/**
 * The order of the peers in a round, from 1 on. Each round begins with another one, and in every second round the others follow in
 * the opposite order: what a peer leaves behind at the server must not always fall on the same one.
 */
export function orderOf<T>(round: number, peers: readonly T[]): T[] {
  const first = round % Math.max(1, peers.length);
  const order = [...peers.slice(first), ...peers.slice(0, first)];
  return round % 2 === 0 ? [...order.slice(0, 1), ...order.slice(1).reverse()] : order;
}
