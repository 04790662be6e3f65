import type { Answer, ExtendAnswer } from "@holdfast/redis-recipes/internal";
import { expect, it } from "vitest";
import { type StandingVote, StandingVotes } from "../../src/redlock/standing-votes.js";
import type { VotingNode } from "../../src/redlock/voting-node.js";

const nodes = [1, 2, 3, 4, 5].map((name) => ({ name: String(name) }) as VotingNode);
const [one, two, three, four, five] = nodes as [VotingNode, VotingNode, VotingNode, VotingNode, VotingNode];

const won = () => new StandingVotes(3, [one, two, three], 0, 1_000);
const gone = (atMs: number): Answer<ExtendAnswer> =>
  ({ reply: { status: "gone" }, sentMs: atMs, answeredMs: atMs }) as unknown as Answer<ExtendAnswer>;
const extended = (atMs: number, pttlMs: number): Answer<ExtendAnswer> =>
  ({
    reply: { status: "extended", pttlMs },
    sentMs: atMs,
    answeredMs: atMs,
  }) as unknown as Answer<ExtendAnswer>;
const of = (votes: StandingVotes, node: VotingNode): StandingVote => votes.get(node) as StandingVote;

it("a vote that came later counts while a majority vouches for it", () => {
  const votes = won();
  votes.add(four, { nowMs: 500, askedMs: 490, untilMs: 1_400 });
  expect(votes.backing(600)).toBe(4);
});

it("a vote that came when the others were no majority any more does not count", () => {
  const votes = won();
  votes.heard(of(votes, three), gone(400), 1_000);
  votes.add(four, { nowMs: 500, askedMs: 490, untilMs: 1_400 });
  expect(votes.get(four)).toBeUndefined();
  const expired = won();
  expired.add(four, { nowMs: 1_000, askedMs: 990, untilMs: 1_900 });
  expect(expired.get(four)).toBeUndefined();
});

it("a vote goes with those that vouched for it, if they may have gone before it came", () => {
  const votes = won();
  votes.add(four, { nowMs: 500, askedMs: 490, untilMs: 1_400 });
  votes.add(five, { nowMs: 510, askedMs: 500, untilMs: 1_400 });
  // The vote of four was vouched for by the first three alone, and the vote of five by four as well.
  votes.heard(of(votes, three), gone(600), 1_000);
  expect(votes.backing(610)).toBe(2);
});

it("a vote stays when those that vouched for it were seen after it had come", () => {
  const votes = won();
  votes.add(four, { nowMs: 500, askedMs: 490, untilMs: 1_400 });
  votes.heard(of(votes, three), extended(520, 1_000), 1_000);
  votes.heard(of(votes, three), gone(600), 1_000);
  expect(votes.backing(610)).toBe(3);
});

it("what a node has promised stands, unless it says itself that it ends before", () => {
  const votes = won();
  votes.heard(of(votes, one), extended(400, 602), 0);
  expect(of(votes, one).untilMs).toBe(1_000);
  votes.heard(of(votes, one), extended(500, 100), 0);
  expect(of(votes, one).untilMs).toBeLessThan(600);
  expect(votes.endMs()).toBeLessThan(600);
});
