import type { ComponentChildren, JSX } from "preact";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { FindingRow } from "../../../src/contract/api.js";
import { silenceMs } from "../../../src/contract/stream.js";
import { announce, announced } from "../app/announce.js";
import { base } from "../app/base.js";
import { theme } from "../app/preferences.js";
import { clusters, clustersOf, findings, me, paused, quietMs, stream, streamState } from "../app/store.js";
import { useView, type View } from "../app/view.js";
import { lampOf } from "../format/lamp.js";
import { sorted } from "../format/problems.js";
import { places } from "../keys/shortcuts.js";
import { useShortcuts } from "../keys/use-shortcuts.js";
import { linkTo } from "../url/links.js";
import { Help } from "./help.js";
import { Icon } from "./icon.js";
import { StatusLine } from "./status-line.js";

function togglePause(): void {
  if (paused.peek()) stream.resume();
  else stream.pause();
  announce(paused.peek() ? "Paused: the page does not change" : "Live again");
}

function Live({ view }: { view: View }): JSX.Element {
  const { icon, look, word } = lampOf(streamState.value, clustersOf(view.cluster));
  const still = paused.value;
  return (
    <span class="live">
      <span class={`mark lamp-${look}`}>
        <Icon name={icon} />
        {word}
      </span>
      <button
        type="button"
        class="small"
        aria-pressed={still}
        aria-label={still ? "Resume" : "Pause"}
        onClick={togglePause}
      >
        <Icon name={still ? "play" : "pause"} />
        <span class="wide-only">{still ? "Resume" : "Pause"}</span>
      </button>
    </span>
  );
}

function Search({ view }: { view: View }): JSX.Element {
  return (
    // biome-ignore lint/a11y/useSemanticElements: the element <search> is not known to all browsers yet
    <form
      class="search"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        const q = new FormData(event.currentTarget).get("q");
        view.go("locks", typeof q === "string" && q.trim() !== "" ? { q: q.trim() } : {});
        event.currentTarget.reset();
      }}
    >
      <Icon name="search" />
      <input
        id="search"
        name="q"
        type="search"
        placeholder="Find a lock"
        aria-label="Find a lock by its name or a glob"
        autocomplete="off"
        spellcheck={false}
      />
      <span class="kbd" aria-hidden="true">
        /
      </span>
    </form>
  );
}

function ClusterChoice({ view }: { view: View }): JSX.Element | null {
  const known = clusters.value ?? [];
  if (known.length < 2 && view.cluster === null) return null;
  const choose = (name: string): void => {
    // A cursor or a lock belongs to the list that it came from.
    const path = /^(locks|sessions)\//.test(view.path) ? view.path.split("/", 1)[0] : view.path;
    const query = new URLSearchParams(view.search);
    for (const each of ["cluster", "cursor", "from", "of"]) query.delete(each);
    history.pushState(
      null,
      "",
      linkTo(base, path ?? "", { ...view, cluster: name || null }, Object.fromEntries(query)),
    );
    dispatchEvent(new PopStateEvent("popstate"));
  };
  return (
    <label class="choice">
      <span class="hidden-text">Cluster</span>
      <select value={view.cluster ?? ""} onChange={(event) => choose(event.currentTarget.value)}>
        <option value="">all clusters</option>
        {known.map(({ name }) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
        {view.cluster !== null && !known.some(({ name }) => name === view.cluster) && (
          <option>{view.cluster}</option>
        )}
      </select>
    </label>
  );
}

/**
 * The places to show. Schedules are among them if a cluster shows some, and the ranking if a history is kept. Each is
 * also shown if its address is open.
 */
function shownPlaces(here: string | undefined): (typeof places)[string][] {
  const schedules = here === "schedules" || (clusters.value ?? []).some((each) => each.schedules);
  const ranking = here === "ranking" || me.value?.history === true;
  return Object.values(places).filter(
    ([path]) => (path !== "schedules" || schedules) && (path !== "ranking" || ranking),
  );
}

function rights(): string {
  const who = me.value;
  if (who === null) return "Your role is not known yet.";
  if (!who.actions) return "Read-only: actions are switched off in the configuration.";
  if (who.role === "viewer")
    return "Read-only. Asking a holder to release requires the role operator, a forced release the role admin.";
  if (who.role === "operator")
    return "You may ask holders to release and mute findings. A forced release requires the role admin.";
  return "You may use all actions, forced releases included.";
}

function Menu({ view, onHelp }: { view: View; onHelp: () => void }): JSX.Element {
  const who = me.value;
  const zoneLink = (): void => {
    const query = new URLSearchParams(view.search);
    if (view.zone === "utc") query.delete("tz");
    else query.set("tz", "utc");
    history.replaceState(null, "", `${location.pathname}${query.size === 0 ? "" : `?${query}`}`);
    dispatchEvent(new PopStateEvent("popstate"));
  };
  return (
    <details
      class="menu"
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.currentTarget.open = false;
        event.currentTarget.querySelector("summary")?.focus();
      }}
      onFocusOut={(event) => {
        const to = event.relatedTarget;
        if (to instanceof Node && !event.currentTarget.contains(to)) event.currentTarget.open = false;
      }}
    >
      <summary>
        <Icon name="user" />
        <span class="wide-only">{who?.name ?? "not signed in"}</span>
        {who !== null && <span class="tag wide-only">{who.actions ? who.role : "read-only"}</span>}
      </summary>
      <div class="menu-body">
        <p class="note">{rights()}</p>
        <fieldset>
          <legend>Theme</legend>
          {(["system", "light", "dark"] as const).map((each) => (
            <label key={each} class="check">
              <input
                type="radio"
                name="theme"
                checked={theme.value === each}
                onChange={() => (theme.value = each)}
              />
              {each}
            </label>
          ))}
        </fieldset>
        <label class="check">
          <input type="checkbox" checked={view.zone === "utc"} onChange={zoneLink} />
          Times in UTC
        </label>
        <button type="button" class="small" onClick={onHelp}>
          Keyboard shortcuts
        </button>
        <a href={view.href("about")}>About this dashboard</a>
      </div>
    </details>
  );
}

/** The number of open problems; the page Findings counts the same way. */
function Badge({ problems }: { problems: readonly FindingRow[] }): JSX.Element | null {
  if (problems.length === 0) return null;
  const bad = problems.some(({ severity }) => severity === "critical");
  return (
    <span class={bad ? "count bad" : "count warn"}>
      {problems.length}
      <span class="hidden-text"> {problems.length === 1 ? "problem" : "problems"}</span>
    </span>
  );
}

/**
 * The pages, the choice of a cluster and the search: in a row, or behind one button if the window is too narrow for
 * that.
 */
function Pages({ view, here }: { view: View; here: string }): JSX.Element {
  const [open, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const { problems } = sorted(findings.value ?? [], view.cluster);
  const name = Object.values(places).find(([path]) => path === here)?.[1] ?? "Pages";
  useEffect(() => setOpen(false), [view]);
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for fields
    <div
      role="group"
      aria-label="Pages and search"
      class={open ? "pages open" : "pages"}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || !open) return;
        setOpen(false);
        button.current?.focus();
      }}
      onFocusOut={(event) => {
        const to = event.relatedTarget;
        if (to instanceof Node && !event.currentTarget.contains(to)) setOpen(false);
      }}
    >
      <button
        ref={button}
        type="button"
        class="pages-button"
        aria-expanded={open}
        aria-controls="pages"
        onClick={() => setOpen(!open)}
      >
        <Icon name="menu" />
        <span class="shorten">{name}</span>
        <Badge problems={problems} />
      </button>
      <div id="pages" class="pages-body">
        <nav aria-label="Pages">
          {shownPlaces(here).map(([path, each]) => (
            <a key={path} href={view.href(path)} aria-current={here === path ? "page" : undefined}>
              {each}
              {path === "findings" && <Badge problems={problems} />}
            </a>
          ))}
        </nav>
        <div class="finders">
          <ClusterChoice view={view} />
          <Search view={view} />
        </div>
      </div>
    </div>
  );
}

/** The parts around every page. */
export function Frame({ children }: { children: ComponentChildren }): JSX.Element {
  const view = useView();
  const [help, setHelp] = useState(false);
  const latest = useRef(view);
  latest.current = view;
  useShortcuts(
    useCallback((command) => {
      if (command.do === "help") setHelp(true);
      else if (command.do === "pause") togglePause();
      else if (command.do === "go") latest.current.go(command.path);
      else {
        const filter =
          document.querySelector<HTMLInputElement>("#filter-q") ??
          document.querySelector<HTMLInputElement>("#search");
        // In a narrow window the search is behind the button of the pages. The list of locks has a filter of its own.
        if (filter?.offsetParent == null) latest.current.go("locks");
        else filter.select();
      }
    }, []),
  );
  const here = view.path.split("/", 1)[0] ?? "";
  return (
    <>
      <button type="button" class="skip" onClick={() => document.querySelector<HTMLElement>("main")?.focus()}>
        Skip to the content
      </button>
      <header class="top">
        <a class="brand" href={view.href("")} aria-label="holdfast, overview">
          <svg viewBox="0 0 32 32" aria-hidden="true">
            <circle cx="16" cy="8" r="3.5" />
            <path d="M16 11.5V27M10 17h12M6.5 18.5C7 23.5 10.5 27 16 27s9-3.5 9.5-8.5" />
          </svg>
          <span class="wide-only">holdfast</span>
        </a>
        <Pages view={view} here={here} />
        <div class="tools">
          <Live view={view} />
          <Menu view={view} onHelp={() => setHelp(true)} />
        </div>
      </header>
      <StatusLine view={view} />
      <main id="main" tabIndex={-1} class={quietMs.value > silenceMs && !paused.value ? "stale" : ""}>
        {children}
      </main>
      <p class="hidden-text" aria-live="polite" role="status">
        {announced.value}
      </p>
      {help && <Help onClose={() => setHelp(false)} />}
    </>
  );
}
