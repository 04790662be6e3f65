import { InvalidArgumentError } from "@holdfast/core";
import { describe, expect, test } from "vitest";
import { parseConnectString } from "../../src/session/connect-string.js";

describe("a connect string", () => {
  test.each([
    ["h1", [["h1", 2181]], ""],
    ["h1:2182", [["h1", 2182]], ""],
    [
      "h1:2181,h2",
      [
        ["h1", 2181],
        ["h2", 2181],
      ],
      "",
    ],
    [
      " h1:2181 , h2 ",
      [
        ["h1", 2181],
        ["h2", 2181],
      ],
      "",
    ],
    [
      "h1,h2:9/app/locks",
      [
        ["h1", 2181],
        ["h2", 9],
      ],
      "/app/locks",
    ],
    ["h1/", [["h1", 2181]], ""],
    ["10.0.0.1:65535", [["10.0.0.1", 65_535]], ""],
    ["[::1]", [["::1", 2181]], ""],
    [
      "h1:2181,h2,[::1]:2181/chroot",
      [
        ["h1", 2181],
        ["h2", 2181],
        ["::1", 2181],
      ],
      "/chroot",
    ],
    ["zoo_1.example.org", [["zoo_1.example.org", 2181]], ""],
  ])("%j is understood", (text, servers, chroot) => {
    const parsed = parseConnectString(text);
    expect(parsed.servers.map(({ host, port }) => [host, port])).toEqual(servers);
    expect(parsed.chroot).toBe(chroot);
  });

  test.each([
    ["", "a server is missing"],
    ["h1,,h2", "a server is missing"],
    ["/app", "a server is missing"],
    ["zk://h1:2181", 'leave out "zk://"'],
    ["h1:", '"h1:"'],
    ["h1:0", '"h1:0"'],
    ["h1:65536", '"h1:65536"'],
    ["h1:2181x", '"h1:2181x"'],
    [":2181", '":2181"'],
    ["::1", "brackets"],
    ["[::1", "brackets"],
    ["[zz]:2181", "brackets"],
    ["[::1]2181", "2181"],
    ["h 1:2181", '"h 1:2181"'],
    ["h1/app,h2/app", "comma"],
    ["h1/app/", "/app/"],
    ["h1/a//b", "/a//b"],
    ["h1/../b", "/../b"],
  ])("%j is refused, naming what is wrong", (text, named) => {
    const parse = (): unknown => parseConnectString(text);
    expect(parse).toThrow(InvalidArgumentError);
    expect(parse).toThrow(named);
  });

  test("that is no string is refused", () => {
    expect(() => parseConnectString(undefined as unknown as string)).toThrow(InvalidArgumentError);
  });
});
