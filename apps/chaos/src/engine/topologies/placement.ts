import { join } from "node:path";
import type { ServerPlace } from "@holdfast/test-servers";
import { SmallDisk } from "../disk/small-disk.js";
import { SweptFolder } from "../machine/swept-folder.js";
import { createSwitch, type NetworkSwitch } from "../network/switch.js";
import { buildShims, type Shims } from "../shims/build.js";
import type { ShimHandle } from "../shims/shim-handle.js";
import type { ServerSet } from "./server-set.js";

/** The special conditions under which servers are started. */
export interface PlaceWishes {
  readonly namespaces?: boolean | undefined;
  readonly shims?: boolean | undefined;
  /** The size in bytes of a disk for each server. */
  readonly diskBytes?: number | undefined;
}

/** The places of the servers of a set, and what faults can change there. Servers are numbered as they are started. */
export class Placement {
  readonly network: NetworkSwitch | undefined;
  readonly shims: readonly ShimHandle[];
  readonly disks: readonly SmallDisk[];
  readonly #count: number;
  readonly #folder: SweptFolder | undefined;

  private constructor(
    count: number,
    network: NetworkSwitch | undefined,
    shims: readonly ShimHandle[],
    disks: readonly SmallDisk[],
    folder: SweptFolder | undefined,
  ) {
    this.#count = count;
    this.network = network;
    this.shims = shims;
    this.disks = disks;
    this.#folder = folder;
  }

  /** Makes the wished places for `count` servers. @throws ProgramError if the machine does not have what is needed. */
  static async open(wishes: PlaceWishes, count: number): Promise<Placement> {
    const folder =
      wishes.shims === true || wishes.diskBytes !== undefined ? new SweptFolder("servers") : undefined;
    const disks: SmallDisk[] = [];
    let network: NetworkSwitch | undefined;
    try {
      if (wishes.namespaces === true) network = await createSwitch({ nodes: count });
      let shims: Shims | undefined;
      if (wishes.shims === true && folder !== undefined) shims = await buildShims(folder.path);
      if (wishes.diskBytes !== undefined && folder !== undefined) {
        for (let at = 0; at < count; at++) {
          disks.push(await SmallDisk.mount(join(folder.path, `disk-${at}`), wishes.diskBytes));
        }
      }
      const handles =
        shims === undefined ? [] : Array.from({ length: count }, (_, at) => shims.handle(`server-${at}`));
      return new Placement(count, network, handles, disks, folder);
    } catch (error) {
      await closeAll(network, [], disks, folder);
      throw error;
    }
  }

  /** The place in which each server is started; undefined if none needs one. */
  get places(): ServerPlace[] | undefined {
    if (this.network === undefined && this.shims.length === 0) return undefined;
    return Array.from({ length: this.#count }, (_, at) => {
      const place = this.network?.place(at) ?? {};
      return { ...place, prefix: [...(place.prefix ?? []), ...(this.shims[at]?.prefix ?? [])] };
    });
  }

  /** Takes back all changes, for the next scenario. */
  async heal(): Promise<void> {
    await this.network?.heal();
    for (const shim of this.shims) {
      shim.setWallClock(0);
      shim.setFsyncDelay(0);
    }
    for (const disk of this.disks) await disk.free();
  }

  /** Removes the places. To be called when the servers have been stopped. */
  async close(): Promise<void> {
    await closeAll(this.network, this.shims, this.disks, this.#folder);
  }
}

async function closeAll(
  network: NetworkSwitch | undefined,
  shims: readonly ShimHandle[],
  disks: readonly SmallDisk[],
  folder: SweptFolder | undefined,
): Promise<void> {
  await network?.close();
  for (const shim of shims) shim.close();
  for (const disk of disks) await disk.unmount();
  await folder?.remove();
}

/** A placement with the names of its servers. */
interface Known {
  readonly placement: Placement;
  readonly numbers: ReadonlyMap<string, number>;
}

const known = new WeakMap<ServerSet, Known>();

/** Remembers, for faults, the number in the placement of each server of the set, by name. Several servers may share a place. */
export function rememberPlacement(
  set: ServerSet,
  placement: Placement,
  numbers: ReadonlyMap<string, number> = new Map(set.servers.map(({ name }, at) => [name, at])),
): void {
  known.set(set, { placement, numbers });
}

/** @throws Error for a set whose servers have no special places. */
export function placementOf(set: ServerSet): Placement {
  return knownOf(set).placement;
}

/** The number of a server in its placement. */
export function placeOf(set: ServerSet, server: string): number {
  const at = knownOf(set).numbers.get(server);
  if (at === undefined) throw new RangeError(`${server} has no place of its own`);
  return at;
}

function knownOf(set: ServerSet): Known {
  const found = known.get(set);
  if (found === undefined) {
    throw new Error(
      `the servers of ${set.topology.kind} were started without namespaces, shims and small disks`,
    );
  }
  return found;
}
