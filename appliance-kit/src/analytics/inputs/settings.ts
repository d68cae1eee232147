// What was set of inputs. Those that are not named are as storaged's own settings have them.

import type { Settings } from '../../state/settings.ts';
import { setting } from '../../state/settings.ts';
import type { KeptSettings, Wanted } from './storaged.ts';

export const inputSettings = setting<Readonly<Record<string, KeptSettings>>>('inputs');
/** Whether inputs that ask for no token, and were never changed, take from the machine's own networks only. */
export const ownByDefault = setting<boolean>('inputs.ownByDefault');
export const settings = [inputSettings, ownByDefault];

/** What storaged is to have. */
export const wantedOf = (kept: Settings): Wanted => ({
  ownByDefault: kept.get(ownByDefault) === true,
  inputs: kept.get(inputSettings) ?? {},
});
