// What outlives a restart.
import { type Setting, setting } from '../../state/settings.ts';
import type { Known } from './changes.ts';
import type { HardwareChange } from './schema.ts';

export const knownHardware: Setting<Known> = setting<Known>('hardware.known');
export const hardwareChanges: Setting<readonly HardwareChange[]> =
  setting<readonly HardwareChange[]>('hardware.changes');
/** The newest event of the controller's log that was reported. */
export const seenEvent: Setting<{ number: number; at: number | null }> = setting('hardware.seen-event');
