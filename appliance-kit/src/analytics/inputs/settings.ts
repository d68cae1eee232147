// What was set of inputs. Those that are not named are as storaged's own settings have them.
import { setting } from '../../state/settings.ts';
import type { InputSettings } from './schema.ts';

export const inputSettings = setting<Readonly<Record<string, InputSettings>>>('inputs');
export const settings = [inputSettings];
