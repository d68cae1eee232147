// How far set-up has come.
import { setting } from '../../state/settings.ts';
import type { SetupStep } from './schema.ts';

export const completed = setting<boolean>('setup.completed');
/** The appliance was given a name. */
export const named = setting<boolean>('setup.named');
export const step = setting<SetupStep>('setup.step');
export const settings = [completed, named, step];
