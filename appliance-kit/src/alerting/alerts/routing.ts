// Which destinations get which class of alerts. The destinations of a rule come first, then those of the class,
// then all; a class that is muted is kept in the log and not sent, whatever a rule says.

import type { Audit } from '../../access/audit/index.ts';
import { iso } from '../../base/clock.ts';
import { fail } from '../../base/problems/problem.ts';
import type { Caller } from '../../http/gate/caller.ts';
import type { Changes } from '../../http/live-updates/changes.ts';
import type { Database } from '../../state/database.ts';
import type { AnyAlertClass } from '../catalogue/alert-class.ts';
import type { RuleAction } from '../catalogue/rule-action.ts';
import type { Recipient, Recipients } from './message.ts';
import type { AlertKind, ClassRoute, Escalation } from './schema.ts';

export interface Wish {
  readonly class: string;
  readonly ruleName: string | null;
  /** Ids of destinations that whoever raises it means; none: whoever the class goes to. */
  readonly only: readonly string[];
  readonly except: string | null;
}

export interface Audience {
  readonly recipients: readonly Recipient[];
  readonly muted: boolean;
  /** In words. */
  readonly by: string;
}

/** Who does the actions of classes. */
export interface Doer {
  /** Throws what of them cannot be. */
  mustBePossible(caller: Caller, actions: readonly RuleAction[]): void;
  comesWithTheAppliance(worksheet: string): boolean;
}

export interface RoutingParts {
  readonly db: Database;
  readonly audit: Audit;
  readonly changes: Changes;
  /** Every class there is. */
  readonly classes: readonly AnyAlertClass[];
}

export class Routing {
  readonly #parts: RoutingParts;
  readonly #routes = new Map<string, ClassRoute>();
  #recipients: Recipients = { enabled: () => [], known: () => false };
  #doer: Doer = { mustBePossible: () => {}, comesWithTheAppliance: () => false };
  /** The routing of a class without a setting. */
  readonly #undecided: ReadonlyMap<string, ClassRoute>;

  constructor(parts: RoutingParts) {
    this.#parts = parts;
    this.#undecided = new Map(
      parts.classes.map((kind) => [kind.class, { muted: kind.muted ?? false, destinations: [], escalation: null }]),
    );
    for (const row of parts.db.all('SELECT class, route_json FROM class_routes')) {
      this.#routes.set(row.class as string, JSON.parse(row.route_json as string) as ClassRoute);
    }
  }

  /** Called once, by the destinations. */
  sendTo(recipients: Recipients): void {
    this.#recipients = recipients;
  }

  /** Called once, by who does them. */
  actionsBy(doer: Doer): void {
    this.#doer = doer;
  }

  comesWithTheAppliance(worksheet: string): boolean {
    return this.#doer.comesWithTheAppliance(worksheet);
  }

  actions(name: string): readonly RuleAction[] {
    return this.#route(name).actions ?? [];
  }

  /** Whether anything comes of an alert of the class, beyond the log: optional ones are looked for only then. */
  isWanted(name: string): boolean {
    const { muted, actions = [] } = this.#route(name);
    return !muted || actions.length > 0;
  }

  #route(name: string): ClassRoute {
    return this.#routes.get(name) ?? this.#undecided.get(name) ?? { muted: false, destinations: [], escalation: null };
  }

  audience(wish: Wish): Audience {
    const all = this.#recipients.enabled().filter(({ id }) => id !== wish.except);
    const route = this.#route(wish.class);
    if (route.muted) return { recipients: [], muted: true, by: `The class ${wish.class} is muted` };
    // Destinations that were removed since must not leave an alert without any.
    const known = (ids: readonly string[]) => ids.filter((id) => this.#recipients.known(id));
    const meant = known(wish.only);
    if (meant.length > 0) {
      const recipients = all.filter(({ id }) => meant.includes(id));
      return { recipients, muted: false, by: `The rule “${wish.ruleName ?? wish.class}”` };
    }
    const routed = known(route.destinations);
    if (routed.length > 0) {
      const recipients = all.filter(({ id }) => routed.includes(id));
      return { recipients, muted: false, by: `The routing of the class ${wish.class}` };
    }
    return { recipients: all, muted: false, by: 'Every destination: the class has no routing of its own' };
  }

  escalation(name: string): Escalation | null {
    return this.#routes.get(name)?.escalation ?? null;
  }

  /** Throws when there is no such destination, naming its field. */
  mustKnow(destinations: readonly string[], path: string): void {
    destinations.forEach((id, at) => {
      if (this.#recipients.known(id)) return;
      throw fail('invalid_request', `There is no destination ${id}.`, 'Choose from the destinations there are.', [
        { path: `${path}/${at}`, message: 'is no destination' },
      ]);
    });
  }

  list(): AlertKind[] {
    const { db, classes } = this.#parts;
    const counts = new Map(
      db
        .all(`SELECT class, sum(state = 'active') AS active, max(raised_at) AS last FROM alerts GROUP BY class`)
        .map((row) => [row.class as string, row]),
    );
    return classes
      .map((kind) => {
        const given = kind.example;
        const count = counts.get(kind.class);
        const explainedBy = new Set(kind.dependsOn(given).map((key: string) => key.split('/', 1)[0] as string));
        return {
          class: kind.class,
          severities: [...(kind.severities ?? [kind.severity(given)])],
          title: kind.title(given),
          text: kind.text(given),
          impact: kind.impact(given),
          response: kind.response(given),
          action: kind.action(given),
          visibleAfterSeconds: kind.visibleAfterSeconds,
          transient: kind.transient ?? false,
          optional: kind.optional ?? false,
          explainedBy: [...explainedBy],
          active: (count?.active as number | undefined) ?? 0,
          lastRaisedAt: count === undefined ? null : iso(count.last as number),
          ...this.#route(kind.class),
        };
      })
      .sort((a, b) => (a.class < b.class ? -1 : 1));
  }

  get(name: string): AlertKind {
    const found = this.list().find((kind) => kind.class === name);
    if (found === undefined) throw fail('not_found', `There is no class of alerts called ${name}.`);
    return found;
  }

  /** Those of which something was decided. */
  decided(): Record<string, ClassRoute> {
    const known = (name: string) => this.#undecided.has(name);
    return Object.fromEntries([...this.#routes].filter(([name]) => known(name)));
  }

  has(name: string): boolean {
    return this.#undecided.has(name);
  }

  /** As if nothing had been decided. */
  reset(name: string, caller: Caller): void {
    const { db, audit, changes } = this.#parts;
    const before = this.#route(name);
    db.transaction(() => {
      db.run('DELETE FROM class_routes WHERE class = ?', name);
      audit.record(caller, 'alert-class.route', name, before, this.#undecided.get(name) ?? null);
    });
    this.#routes.delete(name);
    changes.publish('alert-classes', name);
  }

  set(name: string, route: ClassRoute, caller: Caller): AlertKind {
    const { db, audit, changes } = this.#parts;
    const before = this.get(name);
    this.mustKnow(route.destinations, '/destinations');
    this.mustKnow(route.escalation?.destinations ?? [], '/escalation/destinations');
    this.#doer.mustBePossible(caller, route.actions ?? []);
    db.transaction(() => {
      db.run(
        `INSERT INTO class_routes VALUES (?, ?) ON CONFLICT (class) DO UPDATE SET route_json = excluded.route_json`,
        name,
        JSON.stringify(route),
      );
      const { muted, destinations, escalation, actions } = before;
      audit.record(caller, 'alert-class.route', name, { muted, destinations, escalation, actions }, route);
    });
    this.#routes.set(name, route);
    changes.publish('alert-classes', name);
    return this.get(name);
  }
}
