import type { Content, Key, Published } from "./keyspace.js";

/** Redis rounds to whole milliseconds, at both ends. The time that the script took comes on top. */
export const roundingMs = 2;

/** Fields of a message or an answer that say how much time is left. They are compared within the tolerance. */
const times = new Set(["pttlMs", "holderPttlMs", "pttl", "at", "leaseLeftMs"]);

/** The differences, one line each; empty if the server did what the model says. */
export function differences(model: unknown, real: unknown, slackMs: number, path: string): string[] {
  if (typeof model === "object" && model !== null && typeof real === "object" && real !== null) {
    const names = new Set([...Object.keys(model), ...Object.keys(real)]);
    return [...names].flatMap((name) => {
      const left = (model as Record<string, unknown>)[name];
      const right = (real as Record<string, unknown>)[name];
      if (times.has(name) && near(Number(left), Number(right), name === "at" ? 1000 * slackMs : slackMs)) {
        return [];
      }
      return differences(left, right, slackMs, `${path}.${name}`);
    });
  }
  return Object.is(model, real) ? [] : [`${path}: model ${show(model)}, server ${show(real)}`];
}

/** A negative PTTL is a code, not a time. */
function near(left: number, right: number, within: number): boolean {
  return left >= 0 && right >= 0 && Math.abs(left - right) <= within;
}

/**
 * A score that a script computes from a PTTL depends on the moment at which the script read the PTTL. Within the tolerance it
 * counts as equal, and the model takes over the server's score.
 */
export function settleScores(
  model: ReadonlyMap<string, Key>,
  real: ReadonlyMap<string, Key>,
  slackMs: number,
): void {
  for (const [name, { content }] of model) {
    const there = real.get(name)?.content;
    if (content.type !== "zset" || there?.type !== "zset") continue;
    for (const [member, score] of content.scores) {
      const other = there.scores.get(member);
      if (other !== undefined && Math.abs(other - score) <= slackMs) content.scores.set(member, other);
    }
  }
}

export function keyDifferences(
  model: ReadonlyMap<string, Key>,
  real: ReadonlyMap<string, Key>,
  slackMs: number,
): string[] {
  return [...new Set([...model.keys(), ...real.keys()])].flatMap((name) => {
    const left = model.get(name);
    const right = real.get(name);
    if (!left || !right)
      return [
        `${name}: model ${left ? show(plain(left.content)) : "nothing"}, server ${right ? show(plain(right.content)) : "nothing"}`,
      ];
    return [
      ...differences(plain(left.content), plain(right.content), slackMs, name),
      ...((left.expiresMs === null) === (right.expiresMs === null) &&
      Math.abs((left.expiresMs ?? 0) - (right.expiresMs ?? 0)) <= slackMs
        ? []
        : [`${name} expires: model ${left.expiresMs}, server ${right.expiresMs}`]),
    ];
  });
}

export function messageDifferences(
  model: readonly Published[],
  real: readonly Published[],
  slackMs: number,
): string[] {
  const read = (each: Published) => [each.channel, parsed(each.message)];
  return differences(model.map(read), real.map(read), slackMs, "messages");
}

function parsed(message: string): unknown {
  return message.startsWith("{") ? JSON.parse(message) : message;
}

function plain(content: Content): unknown {
  switch (content.type) {
    case "string":
      return { string: content.value };
    case "hash":
      return { hash: Object.fromEntries([...content.fields].sort()) };
    case "list":
      return { list: content.items };
    case "zset":
      return { zset: Object.fromEntries([...content.scores].sort()) };
  }
}

function show(value: unknown): string {
  return JSON.stringify(value, (_key, each) => (typeof each === "bigint" ? `${each}n` : each)) ?? "nothing";
}
