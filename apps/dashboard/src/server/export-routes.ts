import { Readable } from "node:stream";
import type { TypeBoxTypeProvider } from "@fastify/type-provider-typebox";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { TSchema } from "typebox";
import type { AuditLog } from "../actions/audit-log.js";
import { ProblemSchema } from "../contract/api.js";
import {
  ExportQuerySchema,
  ExportSchema,
  LocksExportQuerySchema,
  mostExported,
  SessionsExportQuerySchema,
} from "../contract/export.js";
import {
  type Exported,
  exportedAudit,
  exportedFindings,
  exportedLocks,
  exportedSessions,
  exportedWaits,
} from "../core/export/lists.js";
import { type ExportFormat, exportHead, writtenExport } from "../core/export/written.js";
import type { Observatory } from "../core/observatory.js";
import { ProblemError } from "../core/problems.js";
import { admissionOf } from "./access.js";
import { sparingly } from "./api.js";
import type { StreamRights } from "./stream-rights.js";

/** A file that the client has not taken by then is cut off. */
const takenMs = 300_000;
const mostAtOnce = 8;
const mostOfOneCaller = 2;

export interface ExportParts {
  readonly observatory: Observatory;
  readonly audit: AuditLog;
  readonly rights: StreamRights;
}

/** GET export/<list>: all rows of a list as a file. */
export function serveExports(root: FastifyInstance, { observatory, audit, rights }: ExportParts): void {
  const scope = root.withTypeProvider<TypeBoxTypeProvider>();
  /** The number of exports that are being written, by name and address. */
  const open = new Map<string, number>();
  const files = new Set<Readable>();
  let atOnce = 0;
  // A server that closes waits for its answers, so they are ended.
  root.addHook("preClose", async () => {
    for (const file of files) file.destroy();
  });

  scope.get(
    "/export/locks",
    options("All locks that match", LocksExportQuerySchema),
    async (request, reply) => {
      const { format, ...query } = request.query;
      return await send(request, reply, format, () => exportedLocks(observatory, query));
    },
  );
  scope.get(
    "/export/sessions",
    options("All sessions and clients", SessionsExportQuerySchema),
    async (request, reply) => {
      const { format, ...query } = request.query;
      return await send(request, reply, format, () => exportedSessions(observatory, query));
    },
  );
  scope.get(
    "/export/findings",
    options("All findings, of now and of the past", ExportQuerySchema),
    async (request, reply) => {
      const { format, cluster } = request.query;
      return await send(request, reply, format, () => exportedFindings(observatory, cluster));
    },
  );
  scope.get(
    "/export/audit",
    options("All lines of the audit that are kept in memory", ExportQuerySchema),
    async (request, reply) => {
      const { format, cluster } = request.query;
      return await send(request, reply, format, () => exportedAudit(observatory, audit.all(), cluster));
    },
  );
  scope.get("/export/waits", options("Who waits for whom", ExportQuerySchema), async (request, reply) => {
    const { format, cluster } = request.query;
    return await send(request, reply, format, () => exportedWaits(observatory, cluster));
  });

  async function send<R>(
    request: FastifyRequest,
    reply: FastifyReply,
    format: ExportFormat,
    ask: () => Exported<R> | Promise<Exported<R>>,
  ): Promise<FastifyReply> {
    const admission = admissionOf(request);
    const caller = JSON.stringify([admission.principal.name, request.ip]);
    const own = open.get(caller) ?? 0;
    if (own >= mostOfOneCaller)
      throw new ProblemError(429, "too-many-exports", `${mostOfOneCaller} exports at once for one caller`);
    if (atOnce >= mostAtOnce) throw new ProblemError(503, "busy", "too many exports at once; wait a minute");
    open.set(caller, own + 1);
    atOnce += 1;
    let ended = false;
    const end = (): void => {
      if (ended) return;
      ended = true;
      atOnce -= 1;
      const left = (open.get(caller) ?? 1) - 1;
      if (left > 0) open.set(caller, left);
      else open.delete(caller);
    };
    try {
      const exported = await ask();
      const nowMs = observatory.now();
      const head = exportHead(exported, format, nowMs);
      const file = Readable.from(writtenExport(exported, head, format, nowMs), { objectMode: false });
      const cut = (why: string): void => void file.destroy(new Error(`an export is cut off: ${why}`));
      const timer = setTimeout(() => cut("it is not taken"), takenMs).unref();
      const unwatch = rights.watch(admission, cut);
      files.add(file);
      file.once("close", () => {
        clearTimeout(timer);
        unwatch();
        files.delete(file);
        end();
      });
      return await reply
        .type(
          format === "csv" ? "text/csv; charset=utf-8; header=present" : "application/json; charset=utf-8",
        )
        .headers({
          "cache-control": "no-store",
          "content-disposition": `attachment; filename="${head.fileName}"`,
          "x-holdfast-total": head.total,
          "x-holdfast-limit": head.limit,
          "x-holdfast-complete": head.complete ? "yes" : "no",
        })
        .send(file);
    } catch (error) {
      end();
      throw error;
    }
  }
}

function options<Q extends TSchema>(summary: string, querystring: Q) {
  return {
    config: { access: "viewer" as const, api: true, rateLimit: sparingly(20) },
    // A HEAD request has no answer here, because the length of the file is not known.
    exposeHeadRoute: false,
    schema: {
      summary: `${summary}, as a file of ${mostExported} rows at most`,
      querystring,
      response: {
        200: {
          description:
            "The file. Headers: `x-holdfast-total` rows match, `x-holdfast-limit` is the most that an export has, and `x-holdfast-complete` is `no` where rows are missing, or may be missing or old.",
          content: {
            "text/csv": { schema: { type: "string" } },
            "application/json": { schema: ExportSchema },
          },
        },
        "4xx": ProblemSchema,
        "5xx": ProblemSchema,
      },
    },
  };
}
