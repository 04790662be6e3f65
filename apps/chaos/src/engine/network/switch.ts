import type { ServerPlace } from "@holdfast/test-servers";
import { runProgram } from "../machine/run-program.js";
import type { Cut, Party } from "./cuts.js";
import { requireInside } from "./inside.js";
import { NetworkNamespace } from "./namespace.js";
import { bytecodeOf } from "./packet-filter.js";

const firstNode = 10;
const mostNodes = 64;
const mostSwitches = 256;

/** The numbers of the existing switches: their names and addresses must differ. */
const taken = new Set<number>();

export interface SwitchOptions {
  /** How many servers get an address of their own, from 1 to 64. */
  readonly nodes: number;
}

/**
 * A switch in the runner's own network. Servers are behind its ports, each in a namespace with an address of its own.
 * Workers, proxies and the runner are "clients": they share the runner's namespace and one address.
 *
 * Cuts drop packets at the ports, so neither end gets a message. A cut is one-way unless both directions are named.
 * After a heal TCP sends the lost packets again, as on a real network.
 */
export class NetworkSwitch {
  /** The address of the runner and its workers. */
  readonly clients: string;
  readonly #number: number;
  readonly #namespaces: readonly NetworkNamespace[];
  /** The present cuts, by `from>to`. */
  readonly #cut = new Map<string, Cut>();
  #loss = 0;
  #turn: Promise<unknown> = Promise.resolve();
  #closed = false;

  private constructor(number: number, namespaces: readonly NetworkNamespace[]) {
    this.#number = number;
    this.#namespaces = namespaces;
    this.clients = `10.99.${number}.1`;
  }

  /**
   * @throws Error outside of namespaces (see `enterNamespaces`): the machine's own network is never touched.
   * @throws ProgramError with the output of `ip` or `tc`.
   */
  static async open({ nodes }: SwitchOptions): Promise<NetworkSwitch> {
    requireInside("a switch");
    if (!Number.isInteger(nodes) || nodes < 1 || nodes > mostNodes) {
      throw new RangeError(`a switch for ${nodes} servers; from 1 to ${mostNodes} are possible`);
    }
    const number = Array.from({ length: mostSwitches }, (_, each) => each).find((each) => !taken.has(each));
    if (number === undefined) throw new RangeError(`there are ${mostSwitches} switches already`);
    taken.add(number);
    const namespaces: NetworkNamespace[] = [];
    const opened = new NetworkSwitch(number, namespaces);
    try {
      const all = await Promise.allSettled(Array.from({ length: nodes }, () => NetworkNamespace.open()));
      for (const one of all) if (one.status === "fulfilled") namespaces.push(one.value);
      for (const one of all) if (one.status === "rejected") throw one.reason;
      await ip([
        `link add ${opened.#bridge} type bridge forward_delay 0`,
        `address add ${opened.clients}/24 dev ${opened.#bridge}`,
        `link set ${opened.#bridge} up`,
        ...namespaces.flatMap(({ path }, node) => [
          `link add ${opened.#port(node)} type veth peer name eth0 netns ${path}`,
          `link set ${opened.#port(node)} master ${opened.#bridge} up`,
        ]),
      ]);
      const inside = (node: number): string[] => [
        `address add ${opened.address(node)}/24 dev eth0`,
        "link set eth0 up",
        "link set lo up",
      ];
      await Promise.all(namespaces.map(({ prefix }, node) => ip(inside(node), prefix)));
      await tc(namespaces.map((_, node) => `qdisc add dev ${opened.#port(node)} clsact`));
      return opened;
    } catch (error) {
      await opened.close();
      throw error;
    }
  }

  get nodes(): number {
    return this.#namespaces.length;
  }

  /** The address of a server. */
  address(node: number): string {
    this.#namespace(node);
    return `10.99.${this.#number}.${firstNode + node}`;
  }

  /** The address and command prefix of a server, for `startEnsemble({ places })` and similar calls. */
  place(node: number): ServerPlace {
    return { address: this.address(node), prefix: this.#namespace(node).prefix };
  }

  /** `place` of all servers, or of the first `count`. */
  places(count: number = this.nodes): ServerPlace[] {
    return Array.from({ length: count }, (_, node) => this.place(node));
  }

  /** Runs a program in a server's namespace, to its end. @throws ProgramError */
  run(node: number, program: string, args: readonly string[]): Promise<string> {
    const [first = "", ...rest] = this.#namespace(node).prefix;
    return runProgram(first, [...rest, program, ...args]);
  }

  /** The present cuts, without `loss`. */
  get cuts(): readonly Cut[] {
    return [...this.#cut.values()];
  }

  /** Adds cuts to the present ones; all of them take effect together. See `cuts.ts` for shapes. */
  cut(cuts: readonly Cut[]): Promise<void> {
    for (const [from, to] of cuts) {
      for (const party of [from, to]) if (party !== "clients") this.#namespace(party);
      if (from === to) throw new RangeError(`${from} cannot be cut from itself`);
      this.#cut.set(`${from}>${to}`, [from, to]);
    }
    return this.#apply();
  }

  /** Ends some cuts; without an argument ends all cuts, and the loss as well. */
  heal(cuts?: readonly Cut[]): Promise<void> {
    if (cuts === undefined) {
      this.#cut.clear();
      this.#loss = 0;
    }
    for (const [from, to] of cuts ?? []) this.#cut.delete(`${from}>${to}`);
    return this.#apply();
  }

  /** Drops this share, from 0 to 1, of all packets to and from servers, separately in each direction. */
  lose(share: number): Promise<void> {
    this.#loss = share;
    return this.#apply();
  }

  /** How many packets each port has dropped so far: the evidence of cuts and losses. */
  async dropped(): Promise<number[]> {
    const told: unknown = JSON.parse(await runProgram("tc", ["-s", "-j", "qdisc", "show"]));
    const rows = Array.isArray(told) ? (told as { kind?: string; dev?: string; drops?: number }[]) : [];
    return this.#namespaces.map(
      (_, node) => rows.find(({ kind, dev }) => kind === "clsact" && dev === this.#port(node))?.drops ?? 0,
    );
  }

  /**
   * Removes the bridge and the ports. The servers must have been stopped: what still runs there is cut off for good.
   */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#turn;
    for (const namespace of this.#namespaces) namespace.close();
    // A port disappears with its far end, unless something still runs there.
    for (let node = 0; node < this.nodes; node++) await deleteLink(this.#port(node));
    await deleteLink(this.#bridge);
    taken.delete(this.#number);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #namespace(node: number): NetworkNamespace {
    const namespace = this.#namespaces[node];
    if (namespace === undefined) throw new RangeError(`there is no server ${node} at the switch`);
    return namespace;
  }

  /** Applies the filters one change after the other. Each change includes everything that is wanted by then. */
  #apply(): Promise<void> {
    const next = this.#turn.then(() => tc(this.#filters()));
    // A failed change is reported to its caller. The next change runs all the same.
    this.#turn = Promise.allSettled([next]);
    return next;
  }

  #filters(): string[] {
    const cuts = this.cuts;
    return this.#namespaces.flatMap((_, node) => {
      const towards = cuts.filter(([, to]) => to === node).map(([from]) => this.#party(from));
      const away = cuts.some(([from, to]) => from === node && to === "clients") ? [this.clients] : [];
      const port = this.#port(node);
      return [
        filter(port, "egress", bytecodeOf({ by: "source", drop: towards, loss: this.#loss })),
        filter(port, "ingress", bytecodeOf({ by: "destination", drop: away, loss: this.#loss })),
      ];
    });
  }

  get #bridge(): string {
    return `hf${this.#number}`;
  }

  #port(node: number): string {
    return `hf${this.#number}p${node}`;
  }

  #party(party: Party): string {
    return party === "clients" ? this.clients : this.address(party);
  }
}

/** Does what `NetworkSwitch.open` does, for scenarios. */
export function createSwitch(options: SwitchOptions): Promise<NetworkSwitch> {
  return NetworkSwitch.open(options);
}

/** The direction is seen from the switch: `egress` is towards the server. */
function filter(port: string, way: "egress" | "ingress", bytecode: string): string {
  return `filter replace dev ${port} ${way} protocol all pref 1 handle 1 bpf direct-action bytecode "${bytecode}"`;
}

async function ip(lines: readonly string[], prefix: readonly string[] = []): Promise<void> {
  await batch([...prefix, "ip", "-batch", "-"], lines);
}

async function tc(lines: readonly string[]): Promise<void> {
  await batch(["tc", "-batch", "-"], lines);
}

async function batch([program = "", ...args]: readonly string[], lines: readonly string[]): Promise<void> {
  await runProgram(program, args, { input: `${lines.join("\n")}\n` });
}

/** Deletes a link that may be missing: it was half-made, or disappeared with its far end. */
async function deleteLink(name: string): Promise<void> {
  try {
    await runProgram("ip", ["link", "delete", name]);
  } catch (error) {
    if (!/Cannot find device/.test((error as Error).message)) throw error;
  }
}
