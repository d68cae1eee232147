// What lists of things that users create have in common: adding one, being empty, removing one.
import { Button, EmptyState, EmptyStateActions, EmptyStateBody, EmptyStateFooter } from '@patternfly/react-core';
import type { ReactElement, ReactNode } from 'react';
import { useNavigate } from 'react-router';
import { Explained } from './Explained.tsx';

/** Goes to the page on which one is made; `why` says why not, to those who may not. */
export function AddButton({ to, why, children }: { to: string; why: string | null; children: ReactNode }) {
  const navigate = useNavigate();
  return (
    <Explained why={why}>
      <Button isAriaDisabled={why !== null} onClick={() => void navigate(to)}>
        {children}
      </Button>
    </Explained>
  );
}

/** A list with nothing in it: what it is for, and how it gets its first. */
export function EmptyList({ title, add, children }: { title: string; add: ReactElement; children: ReactNode }) {
  return (
    <EmptyState headingLevel="h2" titleText={title}>
      <EmptyStateBody>{children}</EmptyStateBody>
      <EmptyStateFooter>
        <EmptyStateActions>{add}</EmptyStateActions>
      </EmptyStateFooter>
    </EmptyState>
  );
}

/** At the end of a row; `what` is for screen readers: “the rule Egress”. */
export function RemoveButton({ what, why, onRemove }: { what: string; why: string | null; onRemove: () => void }) {
  return (
    <Explained why={why}>
      <Button
        variant="link"
        isDanger
        isInline
        isAriaDisabled={why !== null}
        aria-label={`Remove ${what}`}
        onClick={onRemove}
      >
        Remove
      </Button>
    </Explained>
  );
}
