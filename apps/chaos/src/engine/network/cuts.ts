/**
 * One end of a path through the network: a server by its number, or everything that runs in the runner's own namespace.
 */
export type Party = number | "clients";

/** A direction in which no packet passes, from one party to another. The opposite direction is another pair. */
export type Cut = readonly [from: Party, to: Party];

/** Both directions between two parties. */
export function apart(one: Party, other: Party): Cut[] {
  return [
    [one, other],
    [other, one],
  ];
}

/** Cuts a server off from all other servers, and with `clients` from the clients too. */
export function alone(node: number, nodes: number, clients = false): Cut[] {
  const others: Party[] = numbers(nodes).filter((other) => other !== node);
  if (clients) others.push("clients");
  return others.flatMap((other) => apart(node, other));
}

/** Cuts groups off from each other. A party that is in none of the groups stays connected with all. */
export function split(...groups: readonly (readonly Party[])[]): Cut[] {
  return groups.flatMap((group, index) =>
    groups
      .slice(index + 1)
      .flatMap((other) => group.flatMap((one) => other.flatMap((two) => apart(one, two)))),
  );
}

/**
 * Each server receives packets only from the one before it in `order` (and from clients): packets go round in one
 * direction. For an `order` of three these are three one-way cuts.
 */
export function ring(order: readonly number[]): Cut[] {
  return order.flatMap((from, index) => {
    const next = order[(index + 1) % order.length];
    return order.filter((to) => to !== from && to !== next).map((to): Cut => [from, to]);
  });
}

/** A server in the middle stays connected with all others, which receive nothing from each other. */
export function bridge(middle: number, nodes: number): Cut[] {
  const others = numbers(nodes).filter((node) => node !== middle);
  return others.flatMap((one, index) => others.slice(index + 1).flatMap((two) => apart(one, two)));
}

function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}
