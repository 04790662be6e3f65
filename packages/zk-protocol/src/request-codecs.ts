import type { RecordCodec } from "./jute.js";
import { readRequestedAcl, writeAcl } from "./node-records.js";
import type {
  AddWatchRequest,
  AuthRequest,
  CheckWatchesRequest,
  CreateRequest,
  CreateSessionRequest,
  CreateTTLRequest,
  PathRecord,
  PathVersionRequest,
  PathWatchRequest,
  PrefixRequest,
  ReconfigRequest,
  SaslRecord,
  SetACLRequest,
  SetDataRequest,
  SetWatches2Request,
  SetWatchesRequest,
  SyncRecord,
} from "./records.js";

/** The record of operations without a body. Bytes that are there anyway are ignored. */
export const emptyRecord: RecordCodec<undefined> = {
  write() {},
  read() {
    return undefined;
  },
};

export const pathRecord: RecordCodec<PathRecord> = {
  write(writer, record) {
    writer.string(record.path);
  },
  read(reader) {
    return { path: reader.string("path") };
  },
};

export const syncRecord: RecordCodec<SyncRecord> = {
  write(writer, record) {
    writer.string(record.path);
  },
  read(reader) {
    return { path: reader.stringOrNull("path") };
  },
};

/** The path alone, without a length. Servers send this request only to themselves. */
export const barePathRecord: RecordCodec<PathRecord> = {
  write(writer, record) {
    writer.raw(Buffer.from(record.path));
  },
  read(reader) {
    return { path: reader.rest() };
  },
};

export const pathWatchRequest: RecordCodec<PathWatchRequest> = {
  write(writer, record) {
    writer.string(record.path);
    writer.bool(record.watch);
  },
  read(reader) {
    return { path: reader.string("path"), watch: reader.bool("watch") };
  },
};

export const pathVersionRequest: RecordCodec<PathVersionRequest> = {
  write(writer, record) {
    writer.string(record.path);
    writer.int(record.version);
  },
  read(reader) {
    return { path: reader.string("path"), version: reader.int("version") };
  },
};

export const createRequest: RecordCodec<CreateRequest> = {
  write(writer, record) {
    writer.string(record.path);
    writer.bytes(record.data);
    writeAcl(writer, record.acl);
    writer.int(record.flags);
  },
  read(reader) {
    return {
      path: reader.string("path"),
      data: reader.bytesOrNull("data"),
      acl: readRequestedAcl(reader),
      flags: reader.int("flags"),
    };
  },
};

export const createTTLRequest: RecordCodec<CreateTTLRequest> = {
  write(writer, record) {
    createRequest.write(writer, record);
    writer.long(record.ttlMs);
  },
  read(reader) {
    return { ...createRequest.read(reader), ttlMs: reader.long("ttl") };
  },
};

export const setDataRequest: RecordCodec<SetDataRequest> = {
  write(writer, record) {
    writer.string(record.path);
    writer.bytes(record.data);
    writer.int(record.version);
  },
  read(reader) {
    return {
      path: reader.string("path"),
      data: reader.bytesOrNull("data"),
      version: reader.int("version"),
    };
  },
};

export const setACLRequest: RecordCodec<SetACLRequest> = {
  write(writer, record) {
    writer.string(record.path);
    writeAcl(writer, record.acl);
    writer.int(record.version);
  },
  read(reader) {
    return { path: reader.string("path"), acl: readRequestedAcl(reader), version: reader.int("version") };
  },
};

export const checkWatchesRequest: RecordCodec<CheckWatchesRequest> = {
  write(writer, record) {
    writer.string(record.path);
    writer.int(record.type);
  },
  read(reader) {
    return { path: reader.string("path"), type: reader.int("type") };
  },
};

export const addWatchRequest: RecordCodec<AddWatchRequest> = {
  write(writer, record) {
    writer.string(record.path);
    writer.int(record.mode);
  },
  read(reader) {
    return { path: reader.string("path"), mode: reader.int("mode") };
  },
};

export const setWatchesRequest: RecordCodec<SetWatchesRequest> = {
  write(writer, record) {
    writer.long(record.relativeZxid);
    writer.strings(record.dataWatches);
    writer.strings(record.existWatches);
    writer.strings(record.childWatches);
  },
  read(reader) {
    return {
      relativeZxid: reader.long("relativeZxid"),
      dataWatches: reader.strings("dataWatches"),
      existWatches: reader.strings("existWatches"),
      childWatches: reader.strings("childWatches"),
    };
  },
};

export const setWatches2Request: RecordCodec<SetWatches2Request> = {
  write(writer, record) {
    setWatchesRequest.write(writer, record);
    writer.strings(record.persistentWatches);
    writer.strings(record.persistentRecursiveWatches);
  },
  read(reader) {
    return {
      ...setWatchesRequest.read(reader),
      persistentWatches: reader.strings("persistentWatches"),
      persistentRecursiveWatches: reader.strings("persistentRecursiveWatches"),
    };
  },
};

export const authRequest: RecordCodec<AuthRequest> = {
  write(writer, record) {
    writer.int(record.type);
    writer.string(record.scheme);
    writer.bytes(record.auth);
  },
  read(reader) {
    return {
      type: reader.int("type"),
      scheme: reader.stringOrNull("scheme"),
      auth: reader.bytesOrNull("auth"),
    };
  },
};

export const saslRecord: RecordCodec<SaslRecord> = {
  write(writer, record) {
    writer.bytes(record.token);
  },
  read(reader) {
    return { token: reader.bytesOrNull("token") };
  },
};

export const prefixRequest: RecordCodec<PrefixRequest> = {
  write(writer, record) {
    writer.string(record.prefix);
  },
  read(reader) {
    return { prefix: reader.stringOrNull("prefix") };
  },
};

export const reconfigRequest: RecordCodec<ReconfigRequest> = {
  write(writer, record) {
    writer.string(record.joiningServers);
    writer.string(record.leavingServers);
    writer.string(record.newMembers);
    writer.long(record.curConfigId);
  },
  read(reader) {
    return {
      joiningServers: reader.stringOrNull("joiningServers"),
      leavingServers: reader.stringOrNull("leavingServers"),
      newMembers: reader.stringOrNull("newMembers"),
      curConfigId: reader.long("curConfigId"),
    };
  },
};

export const createSessionRequest: RecordCodec<CreateSessionRequest> = {
  write(writer, record) {
    writer.int(record.timeoutMs);
  },
  read(reader) {
    return { timeoutMs: reader.int("timeout") };
  },
};
