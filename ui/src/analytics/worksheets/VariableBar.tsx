// What a worksheet's variables stand for now: a choice for each, above the charts.
import { FormSelect, FormSelectOption, MenuToggle, Select, SelectList, SelectOption } from '@patternfly/react-core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { createContext, use, useState } from 'react';
import { labelValues } from '../../api/telemetry.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { Control } from '../explore/LimitField.tsx';
import type { Chosen, Variable } from './variables.ts';

export interface Variables {
  readonly variables: readonly Variable[];
  readonly chosen: Chosen;
}
const NONE: Variables = { variables: [], chosen: {} };
export const VariablesContext = createContext<Variables>(NONE);
export const useVariables = (): Variables => use(VariablesContext);

/** What is shown of a label of very many values; the address takes any. */
const MAX_VALUES = 1000;

function One(props: {
  variable: Variable;
  values: readonly string[];
  choose: (name: string, values: readonly string[]) => void;
}) {
  const { variable, values, choose } = props;
  const { name, label, metric, several } = variable;
  const [open, setOpen] = useState(false);
  const { data, error } = useQuery({
    queryKey: ['telemetry', 'label values', label, metric ?? ''],
    queryFn: ({ signal }) => labelValues(label, metric, signal),
    refetchInterval: 30_000,
    placeholderData: keepPreviousData,
    retry: false,
  });
  // What is chosen stays in the list, also when nothing has it any more.
  const listed = [...new Set([...values, ...(data ?? [])])].sort().slice(0, MAX_VALUES);
  const [first = ''] = values;
  return (
    <Control label={name}>
      {(id) => (
        <>
          {several ? (
            <Select
              isOpen={open}
              onOpenChange={setOpen}
              onSelect={(_event, value) => {
                const one = String(value);
                if (one === '') choose(name, []);
                else choose(name, values.includes(one) ? values.filter((other) => other !== one) : [...values, one]);
              }}
              toggle={(ref) => (
                <MenuToggle ref={ref} id={id} isExpanded={open} onClick={() => setOpen(!open)}>
                  {values.length === 0 ? 'all' : values.length <= 2 ? values.join(', ') : `${values.length} values`}
                </MenuToggle>
              )}
              isScrollable
            >
              <SelectList aria-label={name}>
                <SelectOption value="" hasCheckbox isSelected={values.length === 0}>
                  all
                </SelectOption>
                {listed.map((value) => (
                  <SelectOption key={value} value={value} hasCheckbox isSelected={values.includes(value)}>
                    {value}
                  </SelectOption>
                ))}
              </SelectList>
            </Select>
          ) : (
            <FormSelect id={id} value={first} onChange={(_event, value) => choose(name, value === '' ? [] : [value])}>
              <FormSelectOption value="" label="all" />
              {listed.map((value) => (
                <FormSelectOption key={value} value={value} label={value} />
              ))}
            </FormSelect>
          )}
          {data?.length === 0 && <small className="cistern-quiet">Nothing has the label {label} now.</small>}
          <ProblemAlert error={error} />
        </>
      )}
    </Control>
  );
}

export function VariableBar(props: {
  variables: readonly Variable[];
  chosen: Chosen;
  choose: (name: string, values: readonly string[]) => void;
}) {
  if (props.variables.length === 0) return null;
  return (
    <search className="cistern-controls" aria-label="Variables">
      {props.variables.map((variable) => (
        <One key={variable.name} variable={variable} values={props.chosen[variable.name] ?? []} choose={props.choose} />
      ))}
    </search>
  );
}
