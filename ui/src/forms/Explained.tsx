// A control that cannot be used says why, to the pointer, the keyboard and the screen reader alike.
import { Tooltip } from '@patternfly/react-core';
import type { ReactElement } from 'react';

export function Explained({ why, children }: { why: string | null; children: ReactElement }) {
  return why === null ? children : <Tooltip content={why}>{children}</Tooltip>;
}
