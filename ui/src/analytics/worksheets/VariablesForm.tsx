// Which variables a worksheet has.
import { Button, Checkbox, Modal, ModalBody, ModalFooter, ModalHeader } from '@patternfly/react-core';
import { useState } from 'react';
import { TextField } from '../../forms/Field.tsx';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import type { Chosen, Variable } from './variables.ts';

const MOST = 20;

interface Row extends Variable {
  readonly key: number;
}

const complaint = (rows: readonly Row[], { key, name }: Row): string | undefined => {
  if (!/^[a-zA-Z][a-zA-Z0-9_]{0,63}$/.test(name.trim())) return 'Letters, digits and _, a letter first.';
  return rows.some((one) => one.key !== key && one.name.trim() === name.trim())
    ? 'There are two of this name.'
    : undefined;
};

/** @param chosen what is chosen now; it is what the worksheet opens with */
export function VariablesForm(props: {
  variables: readonly Variable[];
  chosen: Chosen;
  onClose: () => void;
  onDone: (variables: Variable[]) => Promise<unknown>;
}) {
  const [rows, setRows] = useState<Row[]>(() => props.variables.map((one, key) => ({ ...one, key })));
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const [tried, setTried] = useState(false);
  const set = (key: number, change: Partial<Variable>) =>
    setRows(rows.map((row) => (row.key === key ? { ...row, ...change } : row)));
  const wrong = rows.some((row) => complaint(rows, row) !== undefined || row.label.trim() === '');
  const save = async () => {
    setTried(true);
    if (wrong || busy) return;
    setBusy(true);
    try {
      await props.onDone(
        rows.map(({ name, label, metric, several }) => {
          const values = props.chosen[name.trim()] ?? [];
          return {
            ...{ name: name.trim(), label: label.trim(), several },
            ...(metric?.trim() && { metric: metric.trim() }),
            ...(values.length > 0 && { chosen: several ? [...values] : values.slice(0, 1) }),
          };
        }),
      );
      props.onClose();
    } catch (thrown) {
      setError(thrown);
      setBusy(false);
    }
  };
  return (
    <Modal isOpen variant="medium" onClose={props.onClose} aria-labelledby="variables-title">
      <ModalHeader
        title="Variables"
        labelId="variables-title"
        description="In the expressions of this worksheet $name stands for what is chosen above the charts. What is chosen now is what it opens with."
      />
      <ModalBody>
        <ProblemAlert error={error} />
        {rows.length === 0 && <p>There are none yet.</p>}
        {rows.map((row) => (
          <fieldset key={row.key} className="cistern-variable">
            <legend className="pf-v6-screen-reader">Variable {row.name}</legend>
            <TextField
              label="Name"
              value={row.name}
              onChange={(name) => set(row.key, { name })}
              placeholder="host"
              error={tried ? complaint(rows, row) : undefined}
              live
              autoComplete="off"
            />
            <TextField
              label="Label"
              value={row.label}
              onChange={(label) => set(row.key, { label })}
              placeholder="host"
              error={tried && row.label.trim() === '' ? 'The label whose values can be chosen.' : undefined}
              live
              autoComplete="off"
            />
            <TextField
              label="Of the metric"
              value={row.metric ?? ''}
              onChange={(metric) => set(row.key, { metric })}
              placeholder="any"
              autoComplete="off"
            />
            <Checkbox
              id={`several-${row.key}`}
              label="Several values at once"
              isChecked={row.several}
              onChange={(_event, several) => set(row.key, { several })}
            />
            <Button
              variant="link"
              isInline
              aria-label={`Remove the variable ${row.name}`}
              onClick={() => setRows(rows.filter(({ key }) => key !== row.key))}
            >
              Remove
            </Button>
          </fieldset>
        ))}
        {rows.length < MOST && (
          <Button
            variant="secondary"
            onClick={() =>
              setRows([
                ...rows,
                { key: Math.max(-1, ...rows.map(({ key }) => key)) + 1, name: '', label: '', several: true },
              ])
            }
          >
            Add a variable
          </Button>
        )}
      </ModalBody>
      <ModalFooter>
        <Button onClick={() => void save()} isLoading={busy}>
          Save
        </Button>
        <Button variant="link" onClick={props.onClose}>
          Cancel
        </Button>
        {tried && wrong && <span className="cistern-quiet">Correct the fields first.</span>}
      </ModalFooter>
    </Modal>
  );
}
