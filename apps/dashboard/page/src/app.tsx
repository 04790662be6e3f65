import type { JSX } from "preact";
import { LocationProvider, Route, Router } from "preact-iso";
import { base } from "./app/base.js";
import { FindingsPage } from "./pages/findings.js";
import { LockPage } from "./pages/lock.js";
import { LocksPage } from "./pages/locks.js";
import { MissingPage } from "./pages/missing.js";
import { OverviewPage } from "./pages/overview.js";
import { Frame } from "./parts/frame.js";
import { later } from "./parts/later.js";

// Pages that an operator does not open first have scripts of their own.
const AboutPage = later(async () => (await import("./pages/about.js")).AboutPage);
const AuditPage = later(async () => (await import("./pages/audit.js")).AuditPage);
const BackendsPage = later(async () => (await import("./pages/backends.js")).BackendsPage);
const RankingPage = later(async () => (await import("./pages/ranking.js")).RankingPage);
const SchedulesPage = later(async () => (await import("./pages/schedules.js")).SchedulesPage);
const SessionPage = later(async () => (await import("./pages/session.js")).SessionPage);
const SessionsPage = later(async () => (await import("./pages/sessions.js")).SessionsPage);
const WaitsPage = later(async () => (await import("./pages/waits.js")).WaitsPage);

/** Moves the focus to the new page, so that the keyboard continues there. */
function focusMain(): void {
  document.querySelector<HTMLElement>("main")?.focus({ preventScroll: true });
}

// The server's own paths are no pages, so links to them leave the page.
const scope = new RegExp(`^(?!${base.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}(api/|metrics$|healthz|readyz))`);

export function App(): JSX.Element {
  return (
    <LocationProvider scope={scope}>
      <Frame>
        <Router onRouteChange={focusMain}>
          <Route path={base} component={OverviewPage} />
          <Route path={`${base}locks`} component={LocksPage} />
          <Route path={`${base}locks/:id`} component={LockPage} />
          <Route path={`${base}sessions`} component={SessionsPage} />
          <Route path={`${base}sessions/:id`} component={SessionPage} />
          <Route path={`${base}schedules`} component={SchedulesPage} />
          <Route path={`${base}backends`} component={BackendsPage} />
          <Route path={`${base}findings`} component={FindingsPage} />
          <Route path={`${base}waits`} component={WaitsPage} />
          <Route path={`${base}ranking`} component={RankingPage} />
          <Route path={`${base}audit`} component={AuditPage} />
          <Route path={`${base}about`} component={AboutPage} />
          <Route default component={MissingPage} />
        </Router>
      </Frame>
    </LocationProvider>
  );
}
