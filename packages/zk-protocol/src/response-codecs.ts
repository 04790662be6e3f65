import type { RecordCodec } from "./jute.js";
import { readAcl, readStat, writeAcl, writeStat } from "./node-records.js";
import type {
  AddWatchResponse,
  Children2Response,
  ChildrenResponse,
  ClientInfo,
  Create2Response,
  DataResponse,
  EphemeralsResponse,
  GetACLResponse,
  StatResponse,
  TotalNumberResponse,
  WhoAmIResponse,
} from "./records.js";

export const create2Response: RecordCodec<Create2Response> = {
  write(writer, record) {
    writer.string(record.path);
    writeStat(writer, record.stat);
  },
  read(reader) {
    return { path: reader.string("path"), stat: readStat(reader) };
  },
};

export const statResponse: RecordCodec<StatResponse> = {
  write(writer, record) {
    writeStat(writer, record.stat);
  },
  read(reader) {
    return { stat: readStat(reader) };
  },
};

export const dataResponse: RecordCodec<DataResponse> = {
  write(writer, record) {
    writer.bytes(record.data);
    writeStat(writer, record.stat);
  },
  read(reader) {
    return { data: reader.bytesOrNull("data"), stat: readStat(reader) };
  },
};

export const childrenResponse: RecordCodec<ChildrenResponse> = {
  write(writer, record) {
    writer.strings(record.children);
  },
  read(reader) {
    return { children: reader.strings("children") };
  },
};

export const children2Response: RecordCodec<Children2Response> = {
  write(writer, record) {
    writer.strings(record.children);
    writeStat(writer, record.stat);
  },
  read(reader) {
    return { children: reader.strings("children"), stat: readStat(reader) };
  },
};

export const getACLResponse: RecordCodec<GetACLResponse> = {
  write(writer, record) {
    writeAcl(writer, record.acl);
    writeStat(writer, record.stat);
  },
  read(reader) {
    return { acl: readAcl(reader), stat: readStat(reader) };
  },
};

export const ephemeralsResponse: RecordCodec<EphemeralsResponse> = {
  write(writer, record) {
    writer.strings(record.ephemerals);
  },
  read(reader) {
    return { ephemerals: reader.strings("ephemerals") };
  },
};

export const totalNumberResponse: RecordCodec<TotalNumberResponse> = {
  write(writer, record) {
    writer.int(record.totalNumber);
  },
  read(reader) {
    return { totalNumber: reader.int("totalNumber") };
  },
};

export const addWatchResponse: RecordCodec<AddWatchResponse> = {
  write(writer, record) {
    writer.int(record.err);
  },
  read(reader) {
    return { err: reader.int("err") };
  },
};

export const whoAmIResponse: RecordCodec<WhoAmIResponse> = {
  write(writer, record) {
    writer.int(record.clientInfo.length);
    for (const info of record.clientInfo) {
      writer.string(info.authScheme);
      writer.string(info.user);
    }
  },
  read(reader) {
    const count = reader.count("clientInfo");
    const clientInfo: ClientInfo[] = [];
    for (let i = 0; i < count; i++) {
      clientInfo.push({
        authScheme: reader.string("clientInfo.authScheme"),
        user: reader.string("clientInfo.user"),
      });
    }
    return { clientInfo };
  },
};
