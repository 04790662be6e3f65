/** One end of a way: a server by its number, or all that runs in the runner's own namespace. */
export type Party = number | "clients";

/** A way through which nothing gets, from one party to another. The way back is another pair. */
export type Cut = readonly [from: Party, to: Party];

/** Both ways between two. */
export function apart(one: Party, other: Party): Cut[] {
  return [
    [one, other],
    [other, one],
  ];
}

/** A server cut from all other servers, and with `clients` from them too. */
export function alone(node: number, nodes: number, clients = false): Cut[] {
  const others: Party[] = numbers(nodes).filter((other) => other !== node);
  if (clients) others.push("clients");
  return others.flatMap((other) => apart(node, other));
}

/** Groups that hear no process outside. A process that is in none of them hears all others. */
export function split(...groups: readonly (readonly Party[])[]): Cut[] {
  return groups.flatMap((group, index) =>
    groups
      .slice(index + 1)
      .flatMap((other) => group.flatMap((one) => other.flatMap((two) => apart(one, two)))),
  );
}

/**
 * Each hears only the one before it in `order` (and clients hear all): packets go round one way. With `order` of three,
 * three one-way cuts.
 */
export function ring(order: readonly number[]): Cut[] {
  return order.flatMap((from, index) => {
    const next = order[(index + 1) % order.length];
    return order.filter((to) => to !== from && to !== next).map((to): Cut => [from, to]);
  });
}

/** A server in the middle that hears both others, which don't hear each other. */
export function bridge(middle: number, nodes: number): Cut[] {
  const others = numbers(nodes).filter((node) => node !== middle);
  return others.flatMap((one, index) => others.slice(index + 1).flatMap((two) => apart(one, two)));
}

function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}
