import { visible } from "@holdfast/collectors/internal";
import { Fragment, options, type VNode } from "preact";

/** Attributes that people read. */
const read = ["title", "aria-label", "placeholder"] as const;

/**
 * Every text that the page renders passes through here. So no name from a backend can hide a character, or turn the
 * text beside it round, even in a place that was forgotten. What users type into inputs is not changed.
 */
const before = options.vnode;
options.vnode = (vnode: VNode) => {
  const { type } = vnode;
  const props = vnode.props as Record<string, unknown>;
  if (typeof type === "string" || type === Fragment) {
    if ("children" in props) props.children = seen(props.children);
    for (const name of read) if (typeof props[name] === "string") props[name] = visible(props[name]);
  }
  before?.(vnode);
};

function seen(children: unknown): unknown {
  if (typeof children === "string") return visible(children);
  return Array.isArray(children) ? children.map(seen) : children;
}
