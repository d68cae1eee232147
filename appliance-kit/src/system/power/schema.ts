// The machine as a whole.
import { closed, Type } from '../../base/schema/schema.ts';

export const Power = closed({ action: Type.Enum(['reboot', 'off']) }, { $id: 'Power' });
