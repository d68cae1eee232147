// A disabled control gives the reason, to pointer, keyboard and screen reader alike.
import { Tooltip } from '@patternfly/react-core';
import type { ReactElement } from 'react';

export function Explained({ why, children }: { why: string | null; children: ReactElement }) {
  // Always wrapped: a control that was made anew when the reason goes away would lose the click that is under way. A
  // reason that goes away while it is read is not shown empty.
  return (
    <Tooltip
      content={why ?? ''}
      trigger={why === null ? 'manual' : 'mouseenter focus'}
      aria={why === null ? 'none' : 'describedby'}
      className={why === null ? 'cistern-unneeded' : ''}
    >
      {children}
    </Tooltip>
  );
}
