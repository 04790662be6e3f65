import { readdirSync, readFileSync } from "node:fs";

/** A process. `began` distinguishes it from a later process with the same number. */
export interface Seen {
  readonly pid: number;
  readonly began: string;
  readonly command: string;
  readonly state: string;
}

interface Stat extends Seen {
  readonly parent: number;
}

/** Everything that descends from `pid` at this moment. */
export function descendants(pid: number): Seen[] {
  const all = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => statOf(Number(name)) ?? []);
  const found: Stat[] = [];
  for (let parents = [pid]; parents.length > 0; ) {
    const children = all.filter(({ parent }) => parents.includes(parent));
    found.push(...children);
    parents = children.map((child) => child.pid);
  }
  return found;
}

/** The processes that still exist, without ended ones that their parent has not reaped. */
export const alive = (seen: Iterable<Seen>): Seen[] =>
  [...seen].filter(({ pid, began }) => {
    const now = statOf(pid);
    return now !== null && now.began === began && now.state !== "Z";
  });

function statOf(pid: number): Stat | null {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return null;
  }
  // The name is in parentheses and may hold anything.
  const end = text.lastIndexOf(")");
  const fields = text.slice(end + 2).split(" ");
  const [state = "", parent = "0"] = fields;
  return {
    pid,
    began: fields[19] ?? "",
    command: text.slice(text.indexOf("(") + 1, end),
    state,
    parent: Number(parent),
  };
}
