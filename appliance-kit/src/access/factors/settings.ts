// From when on administrators need a second factor.
import { setting } from '../../state/settings.ts';
import type { SecondFactorPolicy } from './schema.ts';

export const policy = setting<SecondFactorPolicy>('second-factor.policy');
export const settings = [policy];
