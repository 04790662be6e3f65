import { type Static, Type } from "typebox";
import { LocksQuerySchema } from "./api.js";
import { InstantSchema } from "./parts.js";

// GET export/<list>: all rows of a list under the same filters, as a file.

/** The largest number of rows in an export. */
export const mostExported = 100_000;

const strict = { additionalProperties: false } as const;
const format = Type.Enum(["csv", "json"], {
  description:
    "csv: RFC 4180 in UTF-8, times in ISO 8601, formulas of spreadsheets defused by an apostrophe, and characters that cannot be seen written out. json: as the API has the rows.",
});
const cluster = Type.Optional(Type.String());

const { limit, cursor, ...filters } = LocksQuerySchema.properties;

export const ExportQuerySchema = Type.Object({ format, cluster }, strict);
export const LocksExportQuerySchema = Type.Object({ format, ...filters }, strict);
export const SessionsExportQuerySchema = Type.Object(
  {
    format,
    cluster,
    q: Type.Optional(
      Type.String({ maxLength: 512, description: "Part of the id, name, host, address or server." }),
    ),
  },
  strict,
);

/** The JSON of every export; `rows` has the rows of the list. */
export const ExportSchema = Type.Object({
  list: Type.String(),
  nowMs: InstantSchema,
  total: Type.Number({
    description: "Rows that match. Those that go while the file is written are left out of it.",
  }),
  limit: Type.Number({
    description: "An export has no more rows: the first ones, in the order of the list.",
  }),
  complete: Type.Boolean({
    description: "False: there are more than `limit`, or rows may be missing or old; `notes` says why.",
  }),
  notes: Type.Array(Type.String()),
  rows: Type.Array(Type.Unknown()),
});

export type LocksExportQuery = Static<typeof LocksExportQuerySchema>;
