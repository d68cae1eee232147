// What people said of hosts, by the hosts' names, and the views that they saved: parts of the settings document. Which hosts there
// are is no setting: what is said of one that is not here waits for it.
import type { Audit } from '../../access/audit/index.ts';
import type { Clock } from '../../base/clock.ts';
import { closed, Line, type Static, Type } from '../../base/schema/schema.ts';
import { ID, manyPart } from '../../domain/settings-part.ts';
import type { Caller } from '../../http/gate/caller.ts';
import type { Database } from '../../state/database.ts';
import { type Hosts, NOTHING_SAID } from './hosts.ts';
import { HostInput, HostViewInput } from './schema.ts';
import type { HostViews } from './views.ts';

const SaidOfHost = closed({ ...HostInput.properties, retired: Type.Boolean() });
type SaidOfHost = Static<typeof SaidOfHost>;

export function hostsPart({ db, clock, audit, hosts }: { db: Database; clock: Clock; audit: Audit; hosts: Hosts }) {
  const say = (name: string, wanted: SaidOfHost | null, by: Caller) => {
    const before = hosts.said(name);
    const { retired = false, ...said } = wanted ?? { ...NOTHING_SAID, retired: false };
    db.transaction(() => {
      const since = before.retired ?? { at: clock.now(), by: by.name };
      hosts.say(new Map([[name, { ...said, retired: retired ? since : null }]]));
      audit.record(by, 'host.update', name, before, wanted);
    });
    hosts.refresh();
  };
  return manyPart({
    ...{ name: 'hosts', title: 'What is said of hosts', version: 1, schema: SaidOfHost },
    covers: ['updateHost', 'retireHosts', 'restoreHosts', 'labelHosts'],
    read: () =>
      Object.fromEntries(
        [...hosts.allSaid()].map(([name, { note, ownLabels, retired }]) => [
          name,
          { note, ownLabels: { ...ownLabels }, retired: retired !== null },
        ]),
      ),
    create: say,
    update: say,
    remove: (name, by) => say(name, null, by),
  });
}

const KeptView = closed({ owner: Line({ maxLength: 128 }), ...HostViewInput.properties });

export const hostViewsPart = (views: HostViews) =>
  manyPart({
    ...{ name: 'host-views', title: 'Views of the hosts', version: 1, schema: KeptView, keys: ID },
    covers: ['createHostView', 'deleteHostView'],
    read: () => Object.fromEntries(views.all().map(({ id, ...view }) => [id, view])),
    create: (id, view, by) => views.put(by, id, view),
    update: (id, view, by) => views.put(by, id, view),
    remove: (id, by) => views.remove(by, id),
  });
