import { parentPort, workerData } from "node:worker_threads";
import { groupByRules } from "../exporter/group-rules.js";
import { Boards } from "./boards.js";
import { failureWords, openDatabase } from "./database.js";
import { Ledger } from "./ledger.js";
import type { FromWorker, Question, ToWorker, WorkerOptions } from "./messages.js";
import { leftHolds } from "./open-holds.js";
import { storyOf } from "./story.js";

// The thread that keeps the history, so that the dashboard's own thread never waits for the disk.

const { file, maxBytes, groups } = workerData as WorkerOptions;
const port = parentPort;
if (port === null) throw new Error("this is no program of its own");

function say(message: FromWorker): void {
  port?.postMessage(message);
}

try {
  const ledger = new Ledger(file, openDatabase(file, maxBytes), groupByRules(groups), Date.now());
  const boards = new Boards(ledger);
  say({ type: "opened", open: leftHolds(ledger.db), status: ledger.status });
  port.on("message", (message: ToWorker) => {
    switch (message.type) {
      case "changes":
        ledger.record(message.changes, message.dropped, Date.now(), (level) => boards.turned(level));
        say({ type: "written", status: ledger.status });
        return;
      case "question":
        if (Date.now() > message.untilMs)
          say({ type: "unanswered", id: message.id, why: "late", message: "its answer would come too late" });
        else answer(message.id, message.question);
        return;
      case "close":
        boards.end();
        ledger.close();
        say({ type: "closed" });
        port.close();
    }
  });

  function answer(id: number, question: Question): void {
    try {
      const found = question.ask === "story" ? storyOf(ledger, question) : boards.rank(question, Date.now());
      if (found === null)
        say({ type: "unanswered", id, why: "reading", message: "the history is being read after the start" });
      else say({ type: "answer", id, answer: found });
    } catch (error) {
      say({ type: "unanswered", id, why: "failed", message: failureWords(error) });
    }
  }
} catch (error) {
  say({ type: "refused", message: (error as Error).message });
  port.close();
}
