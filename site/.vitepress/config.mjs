import { withMermaid } from "vitepress-plugin-mermaid";

const page = (text, link) => ({ text, link });

/** Makes the same anchors as GitHub, so that a link to a heading works in both. */
function anchorOf(heading) {
  return heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M}\s_-]/gu, "")
    .replaceAll(/\s/g, "-");
}

export default withMermaid({
  title: "holdfast",
  description: "Distributed locks for Node.js that share the lock with Apache Curator and Redisson",
  srcDir: ".cache/pages",
  outDir: "dist",
  cacheDir: ".cache/vitepress",
  markdown: { anchor: { slugify: anchorOf } },
  themeConfig: {
    search: { provider: "local" },
    outline: "deep",
    nav: [
      page("Guide", "/docs/guide/first-locks"),
      page("Examples", "/examples/"),
      { text: "API", link: "/api/index.html", target: "_self" },
      page("中文", "/zh-cn"),
    ],
    sidebar: [
      {
        text: "Start",
        items: [
          page("First locks", "/docs/guide/first-locks"),
          page("Cookbook", "/docs/cookbook"),
          page("Examples", "/examples/"),
          page("Questions", "/docs/faq"),
        ],
      },
      {
        text: "Understand",
        items: [
          page("What is promised", "/docs/guide/promises"),
          page("States of a handle", "/docs/guide/handle-states"),
          page("How clients queue", "/docs/guide/queue"),
          page("Session and lease", "/docs/guide/session-and-lease"),
          page("Fencing tokens", "/docs/guide/fencing"),
          page("When a server fails", "/docs/guide/failover"),
        ],
      },
      {
        text: "Change from",
        items: [
          page("redlock", "/docs/migrations/redlock"),
          page("redis-semaphore", "/docs/migrations/redis-semaphore"),
          page("Redisson", "/docs/migrations/redisson"),
          page("Curator", "/docs/migrations/curator"),
          page("node-zookeeper-client", "/docs/migrations/node-zookeeper-client"),
        ],
      },
      {
        text: "Run",
        items: [
          page("Production checklist", "/docs/production-checklist"),
          page("Troubleshooting", "/docs/troubleshooting"),
          page("Upgrade and roll back", "/docs/upgrade"),
          page("Compatibility", "/docs/compatibility"),
          page("The command holdfast", "/apps/cli/"),
          page("Dashboard", "/apps/dashboard/"),
          page("Chaos runner", "/apps/chaos/"),
        ],
      },
      {
        text: "Compare",
        items: [
          page("Comparison", "/docs/comparison"),
          page("Performance", "/docs/performance"),
          page("Six conditions", "/docs/six-conditions"),
          page("Trials", "/docs/trials"),
          page("Other ways", "/docs/other-ways"),
        ],
      },
      {
        text: "Packages",
        items: [
          page("All packages", "/docs/packages"),
          page("core", "/packages/core/"),
          page("zk-recipes", "/packages/zk-recipes/"),
          page("redis-recipes", "/packages/redis-recipes/"),
          page("multi-lock", "/packages/multi-lock/"),
          page("fence", "/packages/fence/"),
          page("web-locks", "/packages/web-locks/"),
          page("schedules", "/packages/schedules/"),
          page("metrics", "/packages/metrics/"),
          page("test-servers", "/packages/test-servers/"),
        ],
      },
      {
        text: "Work on it",
        items: [
          page("Contributing", "/CONTRIBUTING"),
          page("Architecture", "/docs/architecture"),
          page("One acquire", "/docs/one-acquire"),
          page("Decisions", "/docs/decisions/"),
          page("Glossary", "/docs/glossary"),
        ],
      },
    ],
  },
});
