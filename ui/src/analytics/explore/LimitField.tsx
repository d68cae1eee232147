// The limit line's value, typed with its unit.
import { TextInput } from '@patternfly/react-core';
import { type ReactNode, useEffect, useId, useState } from 'react';
import { parseQuantity, quantity } from '../../words/format.ts';
import { limitExample, type Unit } from '../../words/units.ts';

/** A control with its name above it. */
export function Control({ label, children }: { label: string; children: (id: string) => ReactNode }) {
  const id = useId();
  return (
    <div className="cistern-control">
      <label htmlFor={id}>{label}</label>
      {children(id)}
    </div>
  );
}

export function LimitField(props: {
  limit: number | undefined;
  unit: Unit;
  change: (limit: number | undefined) => void;
}) {
  const { limit, unit, change } = props;
  const shown = limit === undefined ? '' : quantity(limit, unit);
  const [text, setText] = useState(shown);
  // biome-ignore lint/correctness/useExhaustiveDependencies: follows the limit, not each keystroke
  useEffect(() => setText(shown), [limit]);
  const value = text.trim() === '' ? undefined : parseQuantity(text, unit);
  const bad = text.trim() !== '' && value === undefined;
  return (
    <Control label="Limit">
      {(id) => (
        <TextInput
          id={id}
          value={text}
          placeholder={limitExample(unit)}
          validated={bad ? 'error' : 'default'}
          onChange={(_event, typed) => setText(typed)}
          onBlur={() => !bad && value !== limit && text !== shown && change(value)}
          onKeyDown={(event) => event.key === 'Enter' && !bad && change(value)}
          size={10}
        />
      )}
    </Control>
  );
}
