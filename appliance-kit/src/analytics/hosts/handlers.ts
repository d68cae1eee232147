// What is asked of hosts and done to them; an action on many is one transaction and one entry of the audit log.

import type { Audit } from '../../access/audit/index.ts';
import type { Silences } from '../../alerting/silences/index.ts';
import type { Thresholds } from '../../alerting/thresholds/index.ts';
import type { Clock } from '../../base/clock.ts';
import { BY_HOST, selectorsOf } from '../../base/hosts.ts';
import { fail } from '../../base/problems/problem.ts';
import type { Caller } from '../../http/gate/caller.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { Storaged } from '../../peers/storaged.ts';
import type { Database } from '../../state/database.ts';
import { chartsOf } from './charts.ts';
import type { Hosts, Said } from './hosts.ts';
import type { routes } from './routes.ts';
import type { Host, HostsChange, HostsRule } from './schema.ts';
import type { HostValuesReader } from './values.ts';
import type { HostViews } from './views.ts';

/** How many names an entry of the audit log has in full. */
const NAMED = 100;
/** As the schema of a rule has it. */
const LONGEST_EXPRESSION = 8192;

export function hostRoutes(parts: {
  db: Database;
  clock: Clock;
  audit: Audit;
  hosts: Hosts;
  values: HostValuesReader;
  views: HostViews;
  silences: Pick<Silences, 'create'>;
  thresholds: Pick<Thresholds, 'create' | 'evaluate'>;
  storaged: Pick<Storaged, 'metricNames' | 'metrics'>;
}): Handlers<typeof routes> {
  const { db, clock, audit, hosts, values, views, silences, thresholds, storaged } = parts;

  const target = (names: readonly string[]) => (names.length === 1 ? (names[0] as string) : `${names.length} hosts`);
  const noted = (names: readonly string[], more: object = {}) => ({ ...more, hosts: names.slice(0, NAMED) });

  /** Says something of each host, unless `change` gives the reason why not. */
  function sayOfMany(
    caller: Caller,
    verb: string,
    names: readonly string[],
    change: (host: Host, said: Said) => Said | string,
    more: object = {},
  ): HostsChange {
    const skipped: { name: string; why: string }[] = [];
    const said = new Map<string, Said>();
    for (const name of names) {
      const host = hosts.find(name);
      const after = host === undefined ? 'there is no such host' : change(host, hosts.said(name));
      if (typeof after === 'string') skipped.push({ name, why: after });
      else said.set(name, after);
    }
    if (said.size > 0) {
      db.transaction(() => {
        hosts.say(said);
        const done = [...said.keys()];
        audit.record(caller, `host.${verb}`, target(done), null, noted(done, more));
      });
      hosts.refresh();
    }
    return { changed: said.size, skipped, id: null };
  }

  const known = (names: readonly string[]) => {
    const found = names.flatMap((name) => hosts.find(name) ?? []);
    const skipped = names
      .filter((name) => hosts.find(name) === undefined)
      .map((name) => ({ name, why: 'there is no such host' }));
    return { found, skipped };
  };

  function ruleOver(chosen: readonly Host[], { metric, as }: HostsRule): string {
    const all = chosen.length === hosts.all().length;
    const selectors = all ? [`{__name__=${JSON.stringify(metric)}}`] : selectorsOf(chosen, metric);
    const expression = selectors
      .map((selector) => `max ${BY_HOST} (${as === 'rate' ? `rate(${selector}[2m])` : selector})`)
      .join(' or ');
    if (expression !== '' && expression.length <= LONGEST_EXPRESSION) return expression;
    throw expression === ''
      ? fail('conflict', 'Nothing names these hosts in what they send: there is nothing that a rule could look at.')
      : fail(
          'conflict',
          `The names of ${chosen.length} hosts are too long for the expression of one rule.`,
          'Choose all hosts, or make the rule by a label that they send.',
        );
  }

  return {
    listHosts: ({ query }) => hosts.list(query),
    listHostValues: ({ query }) => values.read(query),
    getHost: ({ params }) => hosts.get(params.name),
    updateHost: ({ params: { name }, body, caller }) => {
      const { note, ownLabels } = hosts.get(name);
      db.transaction(() => {
        hosts.say(new Map([[name, { ...hosts.said(name), ...body }]]));
        audit.record(caller, 'host.update', name, { note, ownLabels }, body);
      });
      hosts.refresh();
      return hosts.get(name);
    },
    listHostCharts: async ({ params }) => ({ items: await chartsOf(storaged, hosts.get(params.name)) }),
    silenceHosts: ({ body, caller }) => {
      const { found, skipped } = known(body.hosts);
      if (found.length === 0) throw fail('not_found', 'There is none of these hosts.');
      const now = Math.floor(clock.now() / 1000);
      const silence = silences.create(
        {
          ...{ name: body.reason, start: now, end: now + body.forSeconds, classes: [], severities: [], text: '' },
          hosts: found.map(({ name }) => name),
        },
        caller,
      );
      hosts.refresh();
      return { changed: found.length, skipped, id: silence.id };
    },
    retireHosts: ({ body, caller }) =>
      sayOfMany(caller, 'retire', body.hosts, (host, said) => {
        if (host.state === 'reporting' || host.state === 'late') return 'it still sends: stop what sends there first';
        const at = Math.max(clock.now(), Date.parse(host.lastAt));
        return host.state === 'retired' ? 'it is retired already' : { ...said, retired: { at, by: caller.name } };
      }),
    restoreHosts: ({ body, caller }) =>
      sayOfMany(caller, 'restore', body.hosts, (host, said) =>
        host.state === 'retired' ? { ...said, retired: null } : 'it is not retired',
      ),
    labelHosts: ({ body, caller }) =>
      sayOfMany(
        caller,
        'label',
        body.hosts,
        (_, said) => {
          const kept = Object.entries(said.ownLabels).filter(([name]) => !body.remove.includes(name));
          const ownLabels = { ...Object.fromEntries(kept), ...body.set };
          return Object.keys(ownLabels).length > 50 ? 'it would have more than 50 labels' : { ...said, ownLabels };
        },
        { set: body.set, remove: body.remove },
      ),
    watchHosts: ({ body, caller }) => {
      const { found, skipped } = known(body.hosts);
      const rule = {
        ...{ name: body.name, expression: ruleOver(found, body), direction: body.direction, severity: body.severity },
        ...{ raise: body.limit, clear: body.limit, raiseForSeconds: 60, clearForSeconds: 60, repostSeconds: 0 },
        ...{ enabled: true, destinations: [] },
      };
      const made = db.transaction(() => {
        const threshold = thresholds.create(rule);
        audit.record(caller, 'threshold.create', body.name, null, rule);
        return threshold;
      });
      void thresholds.evaluate();
      return { changed: found.length, skipped, id: made.id };
    },
    listHostViews: ({ caller }) => ({ items: views.list(caller) }),
    createHostView: ({ body, caller }) => views.create(caller, body),
    deleteHostView: ({ params, caller }) => {
      views.remove(caller, params.id);
      return undefined;
    },
  };
}
