import { InvalidArgumentError, tokenGate } from "@holdfast/core";
import { type Fence, type FenceOptions, fencesOf, type Writer } from "./writer.js";

/** The name of the header that carries fences, as Node.js writes the names of received headers. */
export const fenceHeader = "holdfast-fence";

/**
 * The header of a request that writes: `holdfast-fence: orders%2F42=0.1234.0`, which is a resource with its epoch, token and
 * turn. Fences of several locks stand with commas between them. Throws what `fenceStatement()` throws.
 *
 * @example
 * ```ts
 * import { fenceHeaders } from "@holdfast/fence";
 *
 * const { ok, status } = await fetch("http://127.0.0.1:3000/orders/42", { method: "PUT", headers: fenceHeaders(lock), body });
 * if (!ok) throw new Error(`not written: ${status}`); // 412: a later holder has written, so do not repeat it
 * ```
 */
export function fenceHeaders(
  writers: Writer | readonly Writer[],
  options?: FenceOptions,
): { [fenceHeader]: string } {
  const fences = fencesOf(writers, options).map(
    ({ resource, epoch, token, turn }) => `${encodeURIComponent(resource)}=${epoch}.${token}.${turn}`,
  );
  return { [fenceHeader]: fences.join(", ") };
}

/** Reads the fences of a header; none for `undefined`. Throws `InvalidArgumentError` for a text that is no fence. */
export function readFences(header: string | readonly string[] | undefined): readonly Fence[] {
  if (header === undefined || header.length === 0) return [];
  return [header].flat().flatMap((line) => String(line).split(",").map(readFence));
}

const largestToken = 2n ** 127n;
/** The highest value of `LockHandle.turn`. */
const largestTurn = 65_535;

function readFence(text: string): Fence {
  const [, resource = "", epoch, token = "", turn] =
    /^\s*([^=\s]+)=(\d{1,16})\.(\d{1,39})\.(\d{1,5})\s*$/.exec(text) ?? [];
  if (resource === "" || !Number.isSafeInteger(Number(epoch))) throw refused(text);
  if (BigInt(token) > largestToken || Number(turn) > largestTurn) throw refused(text);
  return { resource: decode(resource, text), epoch: Number(epoch), token: BigInt(token), turn: Number(turn) };
}

function decode(resource: string, text: string): string {
  try {
    return decodeURIComponent(resource);
  } catch {
    throw refused(text);
  }
}

function refused(text: string): InvalidArgumentError {
  const shown = JSON.stringify(text.slice(0, 80));
  return new InvalidArgumentError(`${fenceHeader}: ${shown} is no resource with epoch, token and turn`);
}

/** What `fastifyFence` needs of a request. */
export interface FencedRequest {
  /** The headers that were received, their names in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** What `fastifyFence` needs of a reply. */
export interface FencedReply {
  /** Sets the status of the answer. */
  code(status: number): { send(body: unknown): unknown };
}

/** What `fastifyFence()` takes. */
export interface FastifyFenceOptions<Request extends FencedRequest> {
  /** The resource that a request writes, by the name that its writers give. */
  readonly resource: (request: Request) => string;
  /**
   * Decides whether a fence may pass. A fence that passes is the newest from then on. Default: a `tokenGate()` in the memory
   * of this process, which is gone when the process ends. Several processes need a database behind them.
   */
  readonly admit?: (fence: Fence) => boolean | Promise<boolean>;
  /**
   * The number of resources for which that gate remembers the newest fence; default 100,000. A request for one more fails
   * with 500, because a forgotten fence would let an old one pass. Has no effect where `admit` is given.
   */
  readonly maxResources?: number;
}

/**
 * A `preHandler` hook of Fastify that lets a request pass only with the newest fence of the resource that it writes. It
 * answers 428 to a request without a fence of that resource, 400 to a header that has no valid fences, and 412 to a fence
 * that is no longer the newest; each with a JSON body of `code`, `message` and `resource`.
 *
 * @example
 * ```ts
 * import { fastifyFence } from "@holdfast/fence";
 *
 * const preHandler = fastifyFence({ resource: ({ headers }) => `orders/${headers["x-order"]}` });
 * app.put("/orders", { preHandler }, async (request) => save(request.body));
 * ```
 */
export function fastifyFence<Request extends FencedRequest>(
  options: FastifyFenceOptions<Request>,
): (request: Request, reply: FencedReply) => Promise<unknown> {
  const { resource: resourceOf, maxResources, admit = inMemory(maxResources) } = options;
  return async (request, reply) => {
    const resource = resourceOf(request);
    const refuse = (status: number, code: string, message: string): unknown =>
      reply.code(status).send({ code, message, resource });
    let fences: readonly Fence[];
    try {
      fences = readFences(request.headers[fenceHeader]);
    } catch (error) {
      return refuse(400, "HF_INVALID_ARGUMENT", (error as Error).message);
    }
    const fence = fences.find((each) => each.resource === resource);
    if (fence === undefined) return refuse(428, "HF_FENCED_OUT", `the request has no fence of ${resource}`);
    if (await admit(fence)) return undefined;
    return refuse(412, "HF_FENCED_OUT", `a later holder of ${resource} has written`);
  };
}

function inMemory(maxResources: number | undefined): (fence: Fence) => boolean {
  const gate = tokenGate(maxResources === undefined ? {} : { maxResources });
  // A token is below 2^128, so the epoch decides before it.
  return ({ resource, epoch, token, turn }) => gate.admit(resource, (BigInt(epoch) << 128n) + token, turn);
}
