import { data } from "./data.js";
import { ensemble } from "./ensemble.js";
import { framing } from "./framing.js";
import { ordering } from "./ordering.js";
import { rareRequests } from "./rare-requests.js";
import { sequences } from "./sequences.js";
import { sessions } from "./sessions.js";
import { transactions } from "./transactions.js";
import { type Item, type Target, Trial } from "./trial.js";
import { watches } from "./watches.js";

/** What a server must do so that locks can use it as a ZooKeeper 3.8.0. */
export const conformance: readonly Item[] = [
  ...sessions,
  ...framing,
  ...data,
  ...sequences,
  ...transactions,
  ...watches,
  ...ordering,
  ...ensemble,
  ...rareRequests,
];

export async function holds(item: Item, target: Target): Promise<void> {
  const trial = new Trial(target, item.number);
  await item.run(trial);
  await trial.end();
}
