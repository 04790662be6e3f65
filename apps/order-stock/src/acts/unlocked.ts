import { figure, rush, tellSale } from "./rush.js";
import type { Stage } from "./stage.js";
import { judge, type Verdict } from "./verdict.js";

/** Act 1: no worker is kept out, so all of them see a full stock and each sells from it. */
export async function unlockedAct(
  stage: Stage,
  { workers, items }: { workers: number; items: number },
): Promise<Verdict> {
  const { screen } = stage;
  screen.line(`  ${workers} workers, ${items} items, no lock: each looks at the stock, thinks, and sells`);
  // This is only a bound: the workers stop thinking when the last of them has looked.
  const result = await rush(stage, { workers, items, locker: { kind: "none" }, thinkMs: 10_000 });
  const sales = result.orders.filter((order) => order.outcome === "sold");
  // The sales are shown afterwards, because many reports at once arrive in another order than the sales happened.
  for (const sale of [...sales].sort((one, other) => other.stock - one.stock)) tellSale(stage, sale);
  return judge([
    {
      promise: "without a lock the stock goes below zero",
      kept: result.lowestStock < 0,
      seen: `stock at the end: ${figure(stage, result.stock)}`,
    },
    {
      promise: "more is sold than there is",
      kept: sales.length > items,
      seen: `${sales.length} orders for ${items} items`,
    },
  ]);
}
