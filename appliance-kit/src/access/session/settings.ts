// How long sessions last.
import { setting } from '../../state/settings.ts';
import type { SessionLifetime } from './schema.ts';

export const lifetime = setting<SessionLifetime>('session.lifetime');
export const settings = [lifetime];
