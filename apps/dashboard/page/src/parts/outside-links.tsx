import type { JSX } from "preact";
import type { Participant, SessionRow } from "../../../src/contract/api.js";
import { filledIn, ipOf, type LinkPlace, type LinkValues } from "../../../src/contract/link-templates.js";
import { me } from "../app/store.js";
import { nameOf } from "../format/participant.js";

interface Place {
  readonly cluster: string;
  readonly backend: string;
}
interface OfLock extends Place {
  readonly key: string;
  readonly kind: string | null;
}

export const lockValues = ({ cluster, backend, key, kind }: OfLock): LinkValues<"lock"> => ({
  ...{ cluster, backend, lock: key, kind },
});

export const ownerValues = (owner: Participant, lock: OfLock): LinkValues<"owner"> => ({
  ...lockValues(lock),
  ...{ owner: nameOf(owner).main, session: owner.session, address: owner.address, ip: ipOf(owner.address) },
  ...{
    label: owner.identity?.label ?? null,
    host: owner.identity?.host ?? null,
    pid: owner.identity?.pid ?? null,
  },
});

export function sessionValues({
  cluster,
  backend,
  id,
  identity,
  address,
  server,
}: SessionRow): LinkValues<"session"> {
  const { label = null, host = null, pid = null } = identity ?? {};
  return {
    ...{ cluster, backend, session: id, owner: label ?? host ?? address ?? id },
    ...{ label, host, pid, address, ip: ipOf(address), server },
  };
}

/** The links of the configuration that lead out of the dashboard. A link for which a value is missing is not shown. */
export function OutsideLinks<P extends LinkPlace>({
  on,
  values,
}: {
  on: P;
  values: LinkValues<P>;
}): JSX.Element | null {
  const links = (me.value?.links ?? []).flatMap(({ title, url, on: place }) => {
    const href = place === on ? filledIn(url, values) : null;
    return href === null ? [] : [{ title, href }];
  });
  return links.length === 0 ? null : (
    <span class="outside">
      {links.map(({ title, href }) => (
        <a key={title} href={href} target="_blank" rel="noopener noreferrer">
          {title}
          <span class="hidden-text">, opens elsewhere</span>
        </a>
      ))}
    </span>
  );
}
