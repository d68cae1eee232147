// Which version was there before this start. The appliance cannot update itself yet: another version is there when someone
// has started it from another system slot, or has installed it anew over its state.
import { type Settings, setting } from '../../state/settings.ts';

export const lastVersion = setting<string>('appliance.version');

/**
 * Reports the version of the last start when it was another one; nothing at the first start of all. This one is remembered
 * after it was reported: a start that is cut off between the two reports again.
 */
export function noteVersion(settings: Settings, version: string, report: (before: string) => void): void {
  const before = settings.get(lastVersion);
  if (before === version) return;
  if (before !== undefined) report(before);
  settings.set(lastVersion, version);
}
