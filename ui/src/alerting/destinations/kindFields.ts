// The props of the fields of each kind of destination.
import type { Destination, DestinationDraft } from './destination.ts';

export interface KindFieldsProps {
  readonly draft: DestinationDraft;
  readonly set: (change: Partial<DestinationDraft>) => void;
  /** The appliance's error message about a field. */
  readonly at: (path: string) => string | undefined;
  /** The destination that is changed; undefined for a new one. */
  readonly existing: Destination | undefined;
}

/** For a secret that was entered before. */
export const storedHelp = (isStored: boolean | undefined): string | undefined =>
  isStored ? 'One is stored; leave this empty to keep it.' : undefined;
