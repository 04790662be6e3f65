import { multiRequest, multiResponse } from "./multi.js";
import { multiReadRequest, multiReadResponse } from "./multi-read.js";
import type { OpName, RequestOf, ResponseOf } from "./operations.js";
import { Reader } from "./reader.js";
import type { RecordCodec } from "./record-codec.js";
import * as requests from "./request-codecs.js";
import * as responses from "./response-codecs.js";
import { Writer } from "./writer.js";

const { emptyRecord, pathRecord, syncRecord } = requests;

const requestCodecs: { readonly [K in OpName]: RecordCodec<RequestOf<K>> } = {
  create: requests.createRequest,
  delete: requests.pathVersionRequest,
  exists: requests.pathWatchRequest,
  getData: requests.pathWatchRequest,
  setData: requests.setDataRequest,
  getACL: pathRecord,
  setACL: requests.setACLRequest,
  getChildren: requests.pathWatchRequest,
  sync: syncRecord,
  ping: emptyRecord,
  getChildren2: requests.pathWatchRequest,
  check: requests.pathVersionRequest,
  multi: multiRequest,
  create2: requests.createRequest,
  reconfig: requests.reconfigRequest,
  checkWatches: requests.checkWatchesRequest,
  removeWatches: requests.checkWatchesRequest,
  createContainer: requests.createRequest,
  deleteContainer: requests.barePathRecord,
  createTTL: requests.createTTLRequest,
  multiRead: multiReadRequest,
  auth: requests.authRequest,
  setWatches: requests.setWatchesRequest,
  sasl: requests.saslRecord,
  getEphemerals: requests.prefixRequest,
  getAllChildrenNumber: pathRecord,
  setWatches2: requests.setWatches2Request,
  addWatch: requests.addWatchRequest,
  whoAmI: emptyRecord,
  createSession: requests.createSessionRequest,
  closeSession: emptyRecord,
};

const responseCodecs: { readonly [K in OpName]: RecordCodec<ResponseOf<K>> } = {
  create: pathRecord,
  delete: emptyRecord,
  exists: responses.statResponse,
  getData: responses.dataResponse,
  setData: responses.statResponse,
  getACL: responses.getACLResponse,
  setACL: responses.statResponse,
  getChildren: responses.childrenResponse,
  sync: syncRecord,
  ping: emptyRecord,
  getChildren2: responses.children2Response,
  check: emptyRecord,
  multi: multiResponse,
  create2: responses.create2Response,
  reconfig: responses.dataResponse,
  checkWatches: emptyRecord,
  removeWatches: emptyRecord,
  createContainer: responses.create2Response,
  deleteContainer: emptyRecord,
  createTTL: responses.create2Response,
  multiRead: multiReadResponse,
  auth: emptyRecord,
  setWatches: emptyRecord,
  sasl: requests.saslRecord,
  getEphemerals: responses.ephemeralsResponse,
  getAllChildrenNumber: responses.totalNumberResponse,
  setWatches2: emptyRecord,
  addWatch: responses.addWatchResponse,
  whoAmI: responses.whoAmIResponse,
  createSession: emptyRecord,
  closeSession: emptyRecord,
};

/** The body of a request: what follows the request header. Throws `RangeError` for a number that does not fit its field. */
export function encodeRequest<K extends OpName>(op: K, request: RequestOf<K>): Buffer {
  const writer = new Writer();
  requestCodecs[op].write(writer, request);
  return writer.finish();
}

/** Throws `ProtocolError` only, whatever the bytes; a server answers that with MarshallingError. */
export function decodeRequest<K extends OpName>(op: K, body: Uint8Array): RequestOf<K> {
  return requestCodecs[op].read(new Reader(body));
}

/** The body of a reply: what follows the reply header. A reply whose `err` is not 0 has none. */
export function encodeResponse<K extends OpName>(op: K, response: ResponseOf<K>): Buffer {
  const writer = new Writer();
  responseCodecs[op].write(writer, response);
  return writer.finish();
}

/**
 * Call it for a reply with `err` 0 only. Throws `ProtocolError` only, whatever the bytes. For `multi`
 * look at `multiFailure` as well.
 */
export function decodeResponse<K extends OpName>(op: K, body: Uint8Array): ResponseOf<K> {
  return responseCodecs[op].read(new Reader(body));
}
