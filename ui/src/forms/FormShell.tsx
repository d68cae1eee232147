// What every form does alike: Enter submits, a refusal stays above the buttons and what was typed stays in the fields,
// a button that cannot be pressed says why.
import { ActionGroup, Button, Form } from '@patternfly/react-core';
import type { ReactNode } from 'react';
import { useNavigate } from 'react-router';
import { asProblem } from '../api/problem.ts';
import { ProblemAlert } from '../words/ProblemAlert.tsx';
import { Explained } from './Explained.tsx';

export interface FormShellProps {
  children: ReactNode;
  submit: string;
  /** What screen readers call the form, when another one on the page has the same button. */
  name?: string;
  onSubmit: () => void;
  busy?: boolean;
  error?: unknown;
  /** Paths of fields that show their own message; a problem about only those is not shown a second time. */
  fields?: readonly string[];
  mayNot?: string | null;
  danger?: boolean;
  /** Where “Cancel” goes, or what it does. */
  cancel?: string | (() => void);
  more?: ReactNode;
}

export function FormShell(props: FormShellProps) {
  const { busy = false, error, mayNot = null, fields = [], cancel } = props;
  const navigate = useNavigate();
  const problem = error ? asProblem(error) : undefined;
  // Of a conflict there is more to say than which fields it is about.
  const errors = problem?.code === 'edit_conflict' ? undefined : problem?.errors;
  const shown = errors !== undefined && errors.length > 0 && errors.every(({ path }) => fields.includes(path));
  return (
    <Form
      noValidate
      aria-label={props.name ?? props.submit}
      className="cistern-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (!busy && mayNot === null) props.onSubmit();
      }}
    >
      {props.children}
      {error !== undefined && error !== null && !shown && <ProblemAlert error={error} />}
      <ActionGroup>
        <Explained why={mayNot}>
          <Button
            type="submit"
            variant={props.danger ? 'danger' : 'primary'}
            isLoading={busy}
            isAriaDisabled={busy || mayNot !== null}
          >
            {props.submit}
          </Button>
        </Explained>
        {props.more}
        {cancel !== undefined && (
          <Button variant="link" onClick={() => (typeof cancel === 'string' ? void navigate(cancel) : cancel())}>
            Cancel
          </Button>
        )}
      </ActionGroup>
    </Form>
  );
}
