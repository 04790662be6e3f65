/**
 * The groups of two or more nodes in which each node reaches every other node (Tarjan). Iterative, because a queue of 10,000
 * is a deep graph.
 */
export function strongComponents(graph: ReadonlyMap<string, ReadonlySet<string>>): string[][] {
  const index = new Map<string, number>();
  const low = new Map<string, number>();
  const open = new Set<string>();
  const stack: string[] = [];
  const components: string[][] = [];
  let counter = 0;

  for (const root of graph.keys()) {
    if (index.has(root)) continue;
    const work: { node: string; next: Iterator<string> }[] = [];
    const visit = (node: string): void => {
      index.set(node, counter);
      low.set(node, counter);
      counter += 1;
      stack.push(node);
      open.add(node);
      work.push({ node, next: (graph.get(node) ?? new Set<string>()).values() });
    };
    visit(root);
    for (let frame = work.at(-1); frame !== undefined; frame = work.at(-1)) {
      const { node, next } = frame;
      const step = next.next();
      if (step.done !== true) {
        const other = step.value;
        if (!index.has(other)) visit(other);
        else if (open.has(other)) lower(low, node, index.get(other));
        continue;
      }
      work.pop();
      const parent = work.at(-1);
      if (parent !== undefined) lower(low, parent.node, low.get(node));
      if (low.get(node) !== index.get(node)) continue;
      const component: string[] = [];
      for (let member = stack.pop(); member !== undefined; member = stack.pop()) {
        open.delete(member);
        component.push(member);
        if (member === node) break;
      }
      if (component.length > 1) components.push(component);
    }
  }
  return components;
}

function lower(low: Map<string, number>, node: string, value: number | undefined): void {
  const present = low.get(node);
  if (value !== undefined && present !== undefined && value < present) low.set(node, value);
}
