// A certificate that ends soon, or has ended.
import type { Conditions } from '../../alerting/alerts/index.ts';
import type { Clock } from '../../base/clock.ts';
import { certificateExpiring, FIRST_DAYS } from './alerts.ts';

const DAY_MS = 86_400_000;

/** @param certificate when the certificate ends that browsers are shown (ms), and whom it names */
export async function lookAtCertificate(
  certificate: () => Promise<{ validTo: number; names: string }>,
  clock: Clock,
  conditions: Conditions,
): Promise<void> {
  const { validTo, names } = await certificate();
  const days = (validTo - clock.now()) / DAY_MS;
  conditions.report(certificateExpiring, days < FIRST_DAYS ? [{ args: { names, validTo, days } }] : []);
}
