// A host's state, as an icon with words.
import { Label } from '@patternfly/react-core';
import { type Host, STATE_WORDS } from './view.ts';

const STATUS = { reporting: 'success', late: 'warning', absent: 'danger' } as const;

export function HostStateLabel({ host: { state, silencedUntil } }: { host: Host }) {
  return (
    <>
      <Label isCompact variant="outline" {...(state !== 'retired' && { status: STATUS[state] })}>
        {STATE_WORDS[state]}
      </Label>
      {silencedUntil !== null && (
        <>
          {' '}
          <Label isCompact variant="outline">
            Silenced
          </Label>
        </>
      )}
    </>
  );
}
