import type { HoldfastError } from "@holdfast/core";
import type { CreateSettings } from "./create-settings.js";
import { type Children, ownNode } from "./node-search.js";
import type { OwnNode } from "./own-node-watch.js";
import { type NodePart, type NodesPlan, ProtectedNodes } from "./protected-nodes.js";
import type { SessionDesk } from "./session-desk.js";

export type CreateSpec = NodePart & Pick<NodesPlan, "siblings" | "readAlong">;

export interface CreateListener {
  /** The node is there; `listing` was read after it, on the same connection. */
  created(node: OwnNode, listing: Children): void;
  failed(error: HoldfastError): void;
}

/** One queue node, made and its queue read in one flight. See `ProtectedNodes`. */
export class ProtectedCreate extends ProtectedNodes {
  constructor(desk: SessionDesk, settings: CreateSettings, spec: CreateSpec, listener: CreateListener) {
    super(
      desk,
      settings,
      {
        ...spec,
        parts: [spec],
        send: ({ session }, [request], answered) => {
          session.send("create2", request, (outcome) => {
            if (!outcome.ok) return answered(outcome);
            const { path, stat } = outcome.value;
            answered({ ...outcome, value: [ownNode(path, stat.czxid)] });
          });
        },
      },
      {
        created: ([node], listings) => listener.created(node, listings.get(spec.parent) as Children),
        failed: (error) => listener.failed(error),
      },
    );
  }
}
