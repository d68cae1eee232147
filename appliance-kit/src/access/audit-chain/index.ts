// Whether the audit log is as it was written: verified each night, and when somebody asks.
import type { AlertsDomain } from '../../alerting/alerts/index.ts';
import { iso } from '../../base/clock.ts';
import { fail } from '../../base/problems/problem.ts';
import { plural } from '../../base/words.ts';
import { domain, type Kernel } from '../../domain/domain.ts';
import type { JobsDomain } from '../../jobs/index.ts';
import { setting } from '../../state/settings.ts';
import type { AuditDomain, Link } from '../audit/index.ts';
import { alertClasses, auditDamaged } from './alerts.ts';
import { routes } from './routes.ts';
import type { AuditVerified } from './schema.ts';
import { knownLink, type Verified, type VerifyOptions, verify } from './verify.ts';

const verified = setting<AuditVerified>('audit.verified');
const KIND = 'audit.verify';
/** When the nights are quiet. */
const NIGHTLY = { every: 'day', at: '03:40' } as const;

function knownOf(texts: readonly string[]): Link[] {
  const errors: { path: string; message: string }[] = [];
  const links = texts.map((text, at) => {
    const link = knownLink(text);
    if (link === null)
      errors.push({ path: `/known/${at}`, message: 'must be ID:HASH, with at least 20 digits of the hash' });
    return link;
  });
  if (errors.length > 0) {
    throw fail(
      'invalid_request',
      `“${texts[Number(errors[0]?.path.slice(7))]}” is no hash of an entry.`,
      'Give it as ID:HASH.',
      errors,
    );
  }
  return links.filter((link) => link !== null);
}

export const auditChainDomain = domain({
  name: 'access/audit-chain',
  routes,
  alertClasses,
  jobKinds: { [KIND]: 'The hash chain of the audit log is verified' },
  settings: [verified],
  create: (parts: Kernel & AuditDomain & JobsDomain & AlertsDomain) => {
    const { db, clock, settings, changes, timetable, audit, jobs, conditions } = parts;
    const began = clock.now();
    const ending = new AbortController();

    const run = async (options: VerifyOptions): Promise<Verified> => {
      const found = await verify(audit, options);
      const { entries, places, damages } = found;
      db.transaction(() => {
        settings.set(verified, { at: iso(clock.now()), entries, places, damages: [...damages] });
        conditions.report(auditDamaged, places === 0 ? [] : [{ args: { places, damages } }]);
      });
      changes.publish('audit');
      return found;
    };

    timetable.add(() => {
      const last = settings.get(verified)?.at;
      const since = last === undefined ? began : Date.parse(last);
      return [
        {
          id: 'audit/verify',
          schedule: NIGHTLY,
          since,
          run: async () => {
            await run({ signal: ending.signal }).catch((error: unknown) => {
              // Taken up at the next start.
              if (!ending.signal.aborted) throw error;
            });
          },
        },
      ];
    });

    return {
      handlers: {
        getAuditChain: () => {
          const [newest, anchor] = [audit.newest(), audit.anchor()];
          return {
            entries: audit.count(),
            newest: newest === undefined ? null : { id: newest.id, hash: newest.hash, time: iso(newest.time) },
            anchor: anchor === undefined ? null : { ...anchor, time: iso(anchor.time) },
            verified: settings.get(verified) ?? null,
          };
        },
        verifyAudit: ({ body, caller }) => {
          const known = knownOf(body.known ?? []);
          if (jobs.isRunning(KIND)) throw fail('conflict', 'The audit log is being verified already.', 'Wait for it.');
          jobs.allow(caller);
          audit.record(caller, 'audit.verify', 'audit log', null, known.length === 0 ? null : { known });
          return jobs.start({ kind: KIND, title: 'Verify the audit log', cancellable: true, caller }, async (job) => {
            let shown = 0;
            const found = await run({
              known,
              signal: AbortSignal.any([job.signal, ending.signal]),
              progress: (done, all) => {
                const percent = Math.min(99, Math.floor((done / Math.max(1, all)) * 100));
                if (percent < shown + 10) return;
                shown = percent;
                job.step(`${plural(done, 'entry', 'entries')} verified`, percent);
              },
            });
            const { entries, places, damages, differences } = found;
            const wrong = [...damages, ...differences];
            if (wrong.length > 0) {
              const more = places > damages.length ? ` There are ${places - damages.length} more places.` : '';
              throw fail(
                'audit_damaged',
                `${wrong.join(' ')}${more}`,
                'Export the log, make a support bundle, and find out who could write to the state of the appliance.',
              );
            }
            job.log(
              `${plural(entries, 'entry holds', 'entries hold')}. ${known.length === 0 ? '' : `${plural(known.length, 'given hash fits', 'given hashes fit')}.`}`.trim(),
            );
            const newest = audit.newest();
            return { entries, newest: newest === undefined ? null : `${newest.id}:${newest.hash}` };
          });
        },
      },
      stop: () => ending.abort(),
    };
  },
});
