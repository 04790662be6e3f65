import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { ApiFailure } from "../api/failure.js";
import { Failed, Loading } from "./states.js";

type Page = () => JSX.Element;

// After an update of the server, its scripts are not those that the open page knows.
const unloaded = new ApiFailure(
  "unreachable",
  0,
  "",
  "The script of this page could not be loaded. If trying again does not help, reload the page in the browser.",
);

/**
 * A page whose script is loaded when the page is opened. If it cannot be loaded, the page says so and has a button to
 * try again.
 */
export function later(load: () => Promise<Page>): Page {
  let page: Page | null = null;
  return function Later() {
    const [state, setState] = useState<"loading" | "loaded" | "failed">(page === null ? "loading" : "loaded");
    useEffect(() => {
      if (state !== "loading") return;
      let left = false;
      const become = (next: "loaded" | "failed"): void => {
        if (!left) setState(next);
      };
      load().then(
        (loaded) => {
          page = loaded;
          become("loaded");
        },
        () => become("failed"),
      );
      return () => {
        left = true;
      };
    }, [state]);
    if (page !== null && state === "loaded") {
      const Loaded = page;
      return <Loaded />;
    }
    return state === "failed" ? (
      <Failed failure={unloaded} retry={() => setState("loading")} whole />
    ) : (
      <>
        <h1 class="hidden-text">Loading</h1>
        <Loading />
      </>
    );
  };
}
