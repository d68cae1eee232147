// Where an alert is sent, and where it escalates to without an acknowledgement: for rules and for classes alike.
import { Checkbox, FormSelect, FormSelectOption } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { useId } from 'react';
import { Link } from 'react-router';
import type { Schemas } from '../../api/client.ts';
import { destinationsQuery } from '../../api/queries.ts';
import { duration } from '../../words/format.ts';

export function Recipients(props: {
  legend?: string;
  /** What it means to choose none. */
  all: string;
  chosen: readonly string[];
  onChange: (ids: string[]) => void;
}) {
  const { chosen, onChange } = props;
  const { data: destinations = [] } = useQuery(destinationsQuery);
  const id = useId();
  return (
    <fieldset className="cistern-choices">
      <legend>{props.legend ?? 'Send to'}</legend>
      {destinations.length === 0 && (
        <p>
          There is no destination yet. <Link to="/alerts/destinations/new">Add one</Link>; the alert is shown here in
          any case.
        </p>
      )}
      {destinations.length > 0 && (
        <Checkbox
          id={`${id}-all`}
          label={props.all}
          isChecked={chosen.length === 0}
          onChange={(_event, all) => onChange(all ? [] : destinations.map((one) => one.id))}
        />
      )}
      {chosen.length > 0 &&
        destinations.map((one) => (
          <Checkbox
            key={one.id}
            id={`${id}-${one.id}`}
            label={one.name}
            isChecked={chosen.includes(one.id)}
            onChange={(_event, on) => onChange(on ? [...chosen, one.id] : chosen.filter((other) => other !== one.id))}
          />
        ))}
    </fieldset>
  );
}

const waits = [300, 600, 900, 1800, 3600, 7200, 14_400, 28_800, 86_400];

export function EscalationFields(props: {
  value: Schemas['Escalation'] | null;
  /** What it means to have no escalation of its own. */
  none: string;
  onChange: (value: Schemas['Escalation'] | null) => void;
}) {
  const { value, onChange } = props;
  const { data: destinations = [] } = useQuery(destinationsQuery);
  const id = useId();
  if (destinations.length === 0) return null;
  const known = value === null || waits.includes(value.afterSeconds);
  return (
    <fieldset className="cistern-choices">
      <legend>If it is not acknowledged</legend>
      <FormSelect
        aria-label="Escalate after"
        value={value?.afterSeconds ?? 0}
        onChange={(_event, text) => {
          const afterSeconds = Number(text);
          if (afterSeconds === 0) onChange(null);
          else onChange({ afterSeconds, destinations: value?.destinations ?? destinations.map((one) => one.id) });
        }}
      >
        <FormSelectOption value={0} label={props.none} />
        {!known && (
          <FormSelectOption value={value.afterSeconds} label={`after ${duration(value.afterSeconds)}, send it to`} />
        )}
        {waits.map((seconds) => (
          <FormSelectOption key={seconds} value={seconds} label={`after ${duration(seconds)}, send it to`} />
        ))}
      </FormSelect>
      {value &&
        destinations.map((one) => (
          <Checkbox
            key={one.id}
            id={`${id}-${one.id}`}
            label={one.name}
            isChecked={value.destinations.includes(one.id)}
            onChange={(_event, on) => {
              const after = on
                ? [...value.destinations, one.id]
                : value.destinations.filter((other) => other !== one.id);
              onChange(after.length === 0 ? null : { ...value, destinations: after });
            }}
          />
        ))}
    </fieldset>
  );
}
