// What the list of hosts is filtered, filled and grouped by, and the views that were saved of it.
import {
  Button,
  Checkbox,
  Dropdown,
  DropdownItem,
  DropdownList,
  FormSelect,
  FormSelectOption,
  Label,
  LabelGroup,
  MenuToggle,
  TextInput,
  ToggleGroup,
  ToggleGroupItem,
} from '@patternfly/react-core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useId, useState } from 'react';
import { useNavigate } from 'react-router';
import { answerOf, client } from '../../api/client.ts';
import { listMetrics } from '../../api/telemetry.ts';
import { ConfirmDialog } from '../../forms/ConfirmDialog.tsx';
import { TextField } from '../../forms/Field.tsx';
import { hostViewsQuery } from './useHosts.ts';
import { type HostsView, STATE_WORDS, STATES, writeHostsView } from './view.ts';

const MOST_METRICS = 50;

function FillField({ view, set }: { view: HostsView; set: (change: Partial<HostsView>) => void }) {
  const id = useId();
  const [text, setText] = useState(view.metric);
  const { data } = useQuery({
    queryKey: ['metrics', 'fill', text],
    queryFn: ({ signal }) => listMetrics({ match: text, of: 'sent', limit: MOST_METRICS }, signal),
    retry: false,
    placeholderData: (before) => before,
  });
  const take = (metric: string) => {
    if (metric !== view.metric) set({ metric, as: /_total$/.test(metric) ? 'rate' : 'value' });
  };
  return (
    <>
      <TextInput
        type="search"
        list={id}
        aria-label="Filled and sorted by"
        placeholder="How long work waits"
        value={text}
        onChange={(_event, value) => {
          setText(value);
          if (value === '' || data?.metrics.some(({ name }) => name === value)) take(value);
        }}
        onBlur={() => take(text.trim())}
        onKeyDown={(event) => event.key === 'Enter' && take(text.trim())}
      />
      <datalist id={id}>
        {data?.metrics.map(({ name }) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </>
  );
}

function GroupSelect(props: {
  at: 0 | 1;
  view: HostsView;
  names: readonly string[];
  set: (group: readonly string[]) => void;
}) {
  const { at, view, names, set } = props;
  const { [at]: value = '', [1 - at]: other } = view.group;
  return (
    <FormSelect
      aria-label={at === 0 ? 'Group by' : 'And by'}
      value={value}
      isDisabled={at === 1 && view.group.length === 0}
      onChange={(_event, chosen) => {
        const group = [...view.group];
        if (chosen === '') group.splice(at, 1);
        else group[at] = chosen;
        set(group);
      }}
    >
      <FormSelectOption value="" label={at === 0 ? 'No groups' : 'and no more'} />
      {[...new Set([...names, ...(value === '' ? [] : [value])])]
        .filter((name) => name !== other)
        .map((name) => (
          <FormSelectOption key={name} value={name} label={`${at === 0 ? 'By' : 'and by'} ${name}`} />
        ))}
    </FormSelect>
  );
}

function Views({ view }: { view: HostsView }) {
  const { data = [] } = useQuery(hostViewsQuery);
  const [open, setOpen] = useState(false);
  const [saving, setSaving] = useState(false);
  const [name, setName] = useState('');
  const [shared, setShared] = useState(false);
  const navigate = useNavigate();
  const queries = useQueryClient();
  const again = () => queries.invalidateQueries({ queryKey: hostViewsQuery.queryKey });
  const address = writeHostsView(view).toString();
  return (
    <>
      <Dropdown
        isOpen={open}
        onOpenChange={setOpen}
        onSelect={() => setOpen(false)}
        isScrollable
        toggle={(ref) => (
          <MenuToggle ref={ref} isExpanded={open} onClick={() => setOpen(!open)}>
            {data.find((one) => one.address === address)?.name ?? 'Views'}
          </MenuToggle>
        )}
      >
        <DropdownList>
          {data.map((one) => (
            <DropdownItem key={one.id} onClick={() => void navigate(`/hosts?${one.address}`)}>
              {one.name}
            </DropdownItem>
          ))}
          <DropdownItem onClick={() => setSaving(true)}>Save this view…</DropdownItem>
          {data
            .filter((one) => one.mayChange && one.address === address)
            .map((one) => (
              <DropdownItem
                key={`delete ${one.id}`}
                isDanger
                onClick={async () => {
                  await answerOf(client.DELETE('/api/host-views/{id}', { params: { path: { id: one.id } } }));
                  await again();
                }}
              >
                Delete the view “{one.name}”
              </DropdownItem>
            ))}
        </DropdownList>
      </Dropdown>
      {saving && (
        <ConfirmDialog
          title="Save this view"
          action="Save"
          mayNot={name.trim() === '' ? 'Enter a name.' : null}
          onClose={() => setSaving(false)}
          onConfirm={async () => {
            await answerOf(client.POST('/api/host-views', { body: { name: name.trim(), shared, address } }));
            await again();
          }}
        >
          <TextField label="Name" value={name} onChange={setName} autoComplete="off" required />
          <Checkbox
            id="host-view-shared"
            label="Everybody may open it"
            isChecked={shared}
            onChange={(_event, on) => setShared(on)}
          />
        </ConfirmDialog>
      )}
    </>
  );
}

export function HostFilters(props: {
  view: HostsView;
  set: (change: Partial<HostsView>) => void;
  labels: readonly string[];
  counts: Readonly<Record<string, number>>;
}) {
  const { view, set, labels, counts } = props;
  const state = view.states.length === 1 ? (view.states[0] as string) : '';
  const [label, setLabel] = useState('');
  return (
    <search className="cistern-host-filters" aria-label="Filters of hosts">
      <TextInput
        type="search"
        aria-label="Search hosts"
        placeholder="Name, note or label"
        value={view.search}
        onChange={(_event, search) => set({ search })}
      />
      <FormSelect
        aria-label="State"
        value={state}
        onChange={(_event, chosen) => set({ states: STATES.filter((one) => one === chosen) })}
      >
        <FormSelectOption value="" label="All but retired" />
        {STATES.map((one) => (
          <FormSelectOption key={one} value={one} label={`${STATE_WORDS[one]} (${counts[one] ?? 0})`} />
        ))}
      </FormSelect>
      <FillField key={view.metric} view={view} set={set} />
      <GroupSelect at={0} view={view} names={labels} set={(group) => set({ group })} />
      <GroupSelect at={1} view={view} names={labels} set={(group) => set({ group })} />
      <TextInput
        type="text"
        aria-label="Only with the label"
        placeholder="label=value"
        value={label}
        onChange={(_event, value) => setLabel(value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || !/^[^=]+=/.test(label)) return;
          set({ labels: [...view.labels, label.trim()] });
          setLabel('');
        }}
      />
      <Checkbox
        id="hosts-unlike"
        label="Unlike their peers"
        isChecked={view.unlike}
        onChange={(_event, unlike) => set({ unlike })}
      />
      <ToggleGroup aria-label="Table or map">
        <ToggleGroupItem text="Table" isSelected={view.show === 'table'} onChange={() => set({ show: 'table' })} />
        <ToggleGroupItem text="Map" isSelected={view.show === 'map'} onChange={() => set({ show: 'map' })} />
      </ToggleGroup>
      <Views view={view} />
      {view.labels.length > 0 && (
        <LabelGroup numLabels={10} aria-label="Labels that are filtered by">
          {view.labels.map((one) => (
            <Label
              key={one}
              closeBtnAriaLabel={`Not ${one}`}
              onClose={() => set({ labels: view.labels.filter((other) => other !== one) })}
            >
              {one}
            </Label>
          ))}
        </LabelGroup>
      )}
      {writeHostsView(view).size > 0 && (
        <Button
          variant="link"
          isInline
          onClick={() =>
            set({
              search: '',
              states: [],
              labels: [],
              metric: '',
              as: 'value',
              of: 'max',
              group: [],
              sort: 'value',
              unlike: false,
            })
          }
        >
          Clear all
        </Button>
      )}
    </search>
  );
}
