import { describe, expect, test } from "vitest";
import {
  type ConnectRequest,
  type ConnectResponse,
  decodeConnectRequest,
  decodeConnectResponse,
  encodeConnectRequest,
  encodeConnectResponse,
  encodeFrame,
  formatSessionId,
  passwordLength,
} from "../src/index.js";
import { bytes, onlyFrame } from "./bytes.js";

// Bytes captured between a client and a ZooKeeper 3.8.0 server.

const noPassword = new Uint8Array(passwordLength);

function expectRequest(request: ConnectRequest, hex: string): void {
  expect(encodeFrame(encodeConnectRequest(request)).toString("hex")).toBe(bytes(hex).toString("hex"));
  expect(decodeConnectRequest(onlyFrame(bytes(hex)))).toEqual(request);
}

function expectResponse(response: ConnectResponse, hex: string): void {
  expect(encodeFrame(encodeConnectResponse(response)).toString("hex")).toBe(bytes(hex).toString("hex"));
  expect(decodeConnectResponse(onlyFrame(bytes(hex)))).toEqual(response);
}

const fresh: ConnectRequest = {
  protocolVersion: 0,
  lastZxidSeen: 0n,
  timeoutMs: 10_000,
  sessionId: 0n,
  password: noPassword,
};

describe("captured handshakes", () => {
  test("a new session with the read-only byte is asked for in 45 bytes and answered in 37", () => {
    expectRequest(
      { ...fresh, readOnly: false },
      "0000002d 00000000 0000000000000000 00002710 0000000000000000 00000010 00*16 00",
    );
    expectResponse(
      {
        protocolVersion: 0,
        timeoutMs: 10_000,
        sessionId: 0x01000014e9be0000n,
        password: Uint8Array.from(bytes("60581a466d12b3093e92492efe4081f9")),
        readOnly: false,
      },
      "00000025 00000000 00002710 01000014e9be0000 00000010 60581a466d12b3093e92492efe4081f9 00",
    );
  });

  test("without the read-only byte it is 44 and 36", () => {
    expectRequest(fresh, "0000002c 00000000 0000000000000000 00002710 0000000000000000 00000010 00*16");
    expectResponse(
      {
        protocolVersion: 0,
        timeoutMs: 10_000,
        sessionId: 0x01000014e9be0001n,
        password: Uint8Array.from(bytes("737914460d5e924e33d5b059d2c995c6")),
      },
      "00000024 00000000 00002710 01000014e9be0001 00000010 737914460d5e924e33d5b059d2c995c6",
    );
  });

  test("a session is taken up again by its id and password", () => {
    const session = {
      protocolVersion: 0,
      timeoutMs: 7000,
      sessionId: 0x0100001643a40003n,
      password: Uint8Array.from(bytes("0b9950c8b318668a37d2cb8b814be35a")),
      readOnly: false,
    };
    expectRequest(
      { ...session, lastZxidSeen: 0n },
      "0000002d 00000000 0000000000000000 00001b58 0100001643a40003 00000010 0b9950c8b318668a37d2cb8b814be35a 00",
    );
    expectResponse(
      session,
      "00000025 00000000 00001b58 0100001643a40003 00000010 0b9950c8b318668a37d2cb8b814be35a 00",
    );
  });

  test("an expired session is answered with time-out 0, id 0 and 16 zero bytes", () => {
    expectResponse(
      { protocolVersion: 0, timeoutMs: 0, sessionId: 0n, password: noPassword, readOnly: false },
      "00000025 00000000 00000000 0000000000000000 00000010 00*16 00",
    );
  });

  test("a request may carry no password at all, a response must", () => {
    const request = { ...fresh, password: null };
    expect(decodeConnectRequest(encodeConnectRequest(request))).toEqual(request);
    expect(() => decodeConnectResponse(bytes("00000000 00002710 01000014e9be0000 ffffffff"))).toThrow(
      "password: null",
    );
  });

  test("any byte but 0 means read-only", () => {
    const frame = Buffer.concat([encodeConnectRequest(fresh), Buffer.of(2)]);
    expect(decodeConnectRequest(frame).readOnly).toBe(true);
  });
});

describe("formatSessionId", () => {
  test("prints unsigned hex without leading zeros, as servers do", () => {
    expect(formatSessionId(0x0100001643a40003n)).toBe("0x100001643a40003");
    expect(formatSessionId(0n)).toBe("0x0");
  });

  test("prints ids of servers numbered 128 and up, which are negative on the wire, unsigned", () => {
    expect(formatSessionId(-0x7effffe9bc5bfffdn)).toBe("0x8100001643a40003");
    expect(formatSessionId(-1n)).toBe("0xffffffffffffffff");
  });
});
