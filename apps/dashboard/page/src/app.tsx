import type { JSX } from "preact";
import { LocationProvider, Route, Router } from "preact-iso";
import { base } from "./app/base.js";
import { AboutPage } from "./pages/about.js";
import { AuditPage } from "./pages/audit.js";
import { BackendsPage } from "./pages/backends.js";
import { FindingsPage } from "./pages/findings.js";
import { LockPage } from "./pages/lock.js";
import { LocksPage } from "./pages/locks.js";
import { MissingPage } from "./pages/missing.js";
import { OverviewPage } from "./pages/overview.js";
import { SchedulesPage } from "./pages/schedules.js";
import { SessionPage } from "./pages/session.js";
import { SessionsPage } from "./pages/sessions.js";
import { WaitsPage } from "./pages/waits.js";
import { Frame } from "./parts/frame.js";

/** Where the keyboard goes on after another page has come. */
function focusMain(): void {
  document.querySelector<HTMLElement>("main")?.focus({ preventScroll: true });
}

// The server's own paths are no pages: such links leave the page.
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
          <Route path={`${base}audit`} component={AuditPage} />
          <Route path={`${base}about`} component={AboutPage} />
          <Route default component={MissingPage} />
        </Router>
      </Frame>
    </LocationProvider>
  );
}
