// Alerts that were raised at about the same time, in groups: a burst of a rule is one of them, however many it has.
import { iso } from '../../base/clock.ts';
import { closed, component, nullable, type Static, Time, Type } from '../../base/schema/schema.ts';
import type { Database } from '../../state/database.ts';
import { Severity } from '../catalogue/severity.ts';

export const Neighbours = component(
  'AlertNeighbours',
  {
    class: Type.String(),
    ruleId: nullable(Type.String()),
    ruleName: nullable(Type.String()),
    severity: Severity,
    count: Type.Integer({ minimum: 1 }),
    firstAt: Time,
    lastAt: Time,
    alerts: Type.Array(
      closed({ id: Type.String(), title: Type.String(), severity: Severity, raisedAt: Time, active: Type.Boolean() }),
      { description: 'the first of them' },
    ),
  },
  'Alerts of one class, of thresholds of one rule, that were raised at about the same time',
);
export type Neighbours = Static<typeof Neighbours>;

const GROUPS = 20;
const NAMED = 3;
const severities = ['critical', 'warning', 'info'] as const;

export function neighbours(db: Database, from: number, to: number, except: string): Neighbours[] {
  const groups = db.all(
    `SELECT class, rule_id, max(rule_name) AS rule_name, count(*) AS n, min(raised_at) AS first, max(raised_at) AS last,
       min(CASE severity WHEN 'critical' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END) AS worst
     FROM alerts WHERE raised_at BETWEEN ? AND ? AND id <> ? GROUP BY class, rule_id ORDER BY first, class LIMIT ?`,
    ...[from, to, except, GROUPS],
  );
  return groups.map((group) => {
    const named = db.all(
      `SELECT id, title, severity, raised_at, state FROM alerts
       WHERE raised_at BETWEEN ? AND ? AND id <> ? AND class = ? AND rule_id IS ? ORDER BY raised_at, number LIMIT ?`,
      ...[from, to, except, group.class as string, group.rule_id as string | null, NAMED],
    );
    return {
      class: group.class as string,
      ruleId: group.rule_id as string | null,
      ruleName: group.rule_name as string | null,
      severity: severities[group.worst as number] ?? 'info',
      count: group.n as number,
      firstAt: iso(group.first as number),
      lastAt: iso(group.last as number),
      alerts: named.map((one) => ({
        id: one.id as string,
        title: one.title as string,
        severity: one.severity as Neighbours['severity'],
        raisedAt: iso(one.raised_at as number),
        active: one.state === 'active',
      })),
    };
  });
}
