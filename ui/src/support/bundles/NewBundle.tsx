// What a bundle holds and where it goes, for those who want other than the usual.
import { Checkbox, ExpandableSection, FormSelect, FormSelectOption } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Schemas } from '../../api/client.ts';
import { bundleOptionsQuery } from '../../api/queries.ts';
import { Field, TextField } from '../../forms/Field.tsx';
import { bytes } from '../../words/format.ts';

export type NewBundle = Schemas['NewBundle'];

/** What to know of a category before it is chosen. */
const NOTES: Readonly<Record<string, string>> = {
  cores: ' (may hold secrets)',
  image: ' (reads and compares all of the system image)',
};

export function BundleOptions({ value, onChange }: { value: NewBundle; onChange: (value: NewBundle) => void }) {
  const [open, setOpen] = useState(false);
  const { data } = useQuery({ ...bundleOptionsQuery, enabled: open });
  const { categories: _, ...rest } = value;
  const chosen = value.categories ?? data?.categories ?? [];
  const choose = (name: string, on: boolean) => {
    const next = on ? [...chosen, name] : chosen.filter((one) => one !== name);
    const usual =
      data !== undefined &&
      next.length === data.categories.length &&
      data.categories.every((one) => next.includes(one));
    onChange(usual ? rest : { ...rest, categories: next });
  };
  return (
    <ExpandableSection toggleText="Options" isExpanded={open} onToggle={(_event, on) => setOpen(on)}>
      <div className="cistern-form">
        <fieldset className="cistern-checks">
          <legend>What it holds</legend>
          {data?.categories.map((name) => (
            <Checkbox
              key={name}
              id={`category-${name}`}
              label={name}
              isChecked={chosen.includes(name)}
              onChange={(_event, on) => choose(name, on)}
            />
          ))}
          {data?.onRequest.map((name) => (
            <Checkbox
              key={name}
              id={`category-${name}`}
              label={`${name}${NOTES[name] ?? ''}`}
              isChecked={chosen.includes(name)}
              onChange={(_event, on) => choose(name, on)}
            />
          ))}
        </fieldset>
        <Field label="Where it is written">
          {(id) => (
            <FormSelect
              id={id}
              value={value.place === 'usb' ? `usb:${value.device}` : (value.place ?? 'auto')}
              onChange={(_event, text) => {
                const { place: _place, device: _device, ...others } = value;
                const [place, device] = text.split(':') as ['auto' | 'memory' | 'usb', string | undefined];
                onChange({ ...others, ...(place !== 'auto' && { place }), ...(device && { device }) });
              }}
            >
              <FormSelectOption value="auto" label="The appliance; in memory when the system pool is full" />
              <FormSelectOption value="memory" label="In memory: gone after a restart" />
              {data?.disks.map(({ device, title, bytes: size }) => (
                <FormSelectOption
                  key={device}
                  value={`usb:${device}`}
                  label={`Disk ${device} (${title}, ${bytes(size)})`}
                />
              ))}
            </FormSelect>
          )}
        </Field>
        <Checkbox
          id="pseudonyms"
          label="Replace host names and addresses, the same ones alike"
          isChecked={value.pseudonyms ?? false}
          onChange={(_event, pseudonyms) => onChange({ ...value, pseudonyms })}
        />
        <TextField
          label="Encrypt to"
          help="An age recipient, as the support team gives it: age1…"
          value={value.recipient ?? ''}
          onChange={(text) => {
            const { recipient: _recipient, ...others } = value;
            onChange(text.trim() === '' ? others : { ...others, recipient: text.trim() });
          }}
        />
      </div>
    </ExpandableSection>
  );
}
