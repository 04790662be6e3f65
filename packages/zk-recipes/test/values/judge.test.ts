import { describe, expect, it } from "vitest";
import { judge } from "../../src/values/conditional-write.js";
import { stat } from "../recipes/support/scripted-session.js";

const ours = Uint8Array.of(1);
const theirs = Uint8Array.of(2);
const at = (version: number, czxid = 7n) => ({ ...stat(czxid, 0n), version });
const found = (version: number, data: Uint8Array | null, czxid = 7n) => ({ data, stat: at(version, czxid) });

describe("a write of a node that was there before, whose answer was lost,", () => {
  it("was not applied where nothing has been written since", () => {
    expect(judge(at(3), found(3, theirs), ours)).toBe("unchanged");
    expect(judge(at(3), found(3, ours), ours)).toBe("unchanged");
  });

  it("was not applied where the only write since wrote something else", () => {
    expect(judge(at(3), found(4, theirs), ours)).toBe("passed-over");
    expect(judge(at(3), found(4, null), ours)).toBe("passed-over");
    // After the highest positive number, the count of writes goes on below zero.
    expect(judge(at(2 ** 31 - 1), found(-(2 ** 31), theirs), ours)).toBe("passed-over");
  });

  it("cannot be distinguished from another client's of the same bytes", () => {
    expect(judge(at(3), found(4, ours), ours)).toBe("unknown");
  });

  it("may lie under later ones", () => {
    expect(judge(at(3), found(5, theirs), ours)).toBe("unknown");
  });

  it("may have gone with a node that was deleted since", () => {
    expect(judge(at(3), null, ours)).toBe("unknown");
    expect(judge(at(3), found(4, theirs, 8n), ours)).toBe("unknown");
    expect(judge(at(3), found(3, theirs, 8n), ours)).toBe("unknown");
  });
});
