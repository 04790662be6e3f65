import type { Connection } from "../connection.js";
import { Gate } from "../gate.js";
import type { Waits } from "../stages.js";

/**
 * Lets several rules act at one point, one after the other. If a rule waits, the next rule acts when the wait is over.
 * After a rule that decides, or ends the connection, no other rule acts. A rule that has nothing to do here answers
 * undefined.
 *
 * @param last gives the verdict if no rule has decided.
 */
export function inTurn<Rule, Verdict>(
  connection: Connection,
  rules: readonly Rule[],
  act: (rule: Rule) => Waits<Verdict> | Gate | undefined,
  last: () => Waits<Verdict>,
): Waits<Verdict> {
  for (const [index, rule] of rules.entries()) {
    const outcome = act(rule);
    if (outcome instanceof Gate) {
      if (outcome.opened) continue;
      const next = () => inTurn(connection, rules.slice(index + 1), act, last);
      return { kind: "hold", until: outcome, next };
    }
    if (outcome !== undefined) return outcome;
    if (connection.closed) break;
  }
  return last();
}
