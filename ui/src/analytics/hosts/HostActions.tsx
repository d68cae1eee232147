// What is done to the chosen hosts: each action is one request, after a question that names how many they are.
import { Dropdown, DropdownItem, DropdownList, MenuToggle } from '@patternfly/react-core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { useMayNot } from '../../api/session.ts';
import { ConfirmDialog } from '../../forms/ConfirmDialog.tsx';
import { Explained } from '../../forms/Explained.tsx';
import { TextField } from '../../forms/Field.tsx';
import { SelectField } from '../../forms/SelectField.tsx';
import { plural } from '../../words/format.ts';

type Change = Schemas['HostsChange'];
type Kind = 'silence' | 'label' | 'rule' | 'retire' | 'restore';

interface DialogProps {
  readonly hosts: readonly string[];
  readonly onDone: (said: string) => void;
  readonly onClose: () => void;
}

/** "3 hosts silenced. 1 was left out: web9, there is no such host." */
export function changeWords(done: string, { changed, skipped }: Change): string {
  const [first] = skipped;
  const left =
    first === undefined
      ? ''
      : ` ${plural(skipped.length, 'host')} left out: ${skipped.length === 1 ? `${first.name}, ` : ''}${first.why}.`;
  return `${plural(changed, 'host')} ${done}.${left}`;
}

const whose = (hosts: readonly string[]) => (hosts.length === 1 ? hosts[0] : plural(hosts.length, 'host'));

const LENGTHS = [
  ['3600', '1 hour'],
  ['14400', '4 hours'],
  ['86400', '1 day'],
  ['604800', '1 week'],
] as const;

function SilenceDialog({ hosts, onDone, onClose }: DialogProps) {
  const [reason, setReason] = useState('');
  const [seconds, setSeconds] = useState<(typeof LENGTHS)[number][0]>('3600');
  return (
    <ConfirmDialog
      title={`Silence ${whose(hosts)}?`}
      action={`Silence ${plural(hosts.length, 'host')}`}
      mayNot={reason.trim() === '' ? 'Enter what it is for.' : null}
      onClose={onClose}
      onConfirm={async () => {
        const body = { hosts: [...hosts], reason: reason.trim(), forSeconds: Number(seconds) };
        onDone(changeWords('silenced', await answerOf(client.POST('/api/hosts/silence', { body }))));
      }}
    >
      <p>
        Alerts about {hosts.length === 1 ? 'it' : 'them'} are logged and not sent. What is active at the end is sent
        then.
      </p>
      <TextField label="What it is for" value={reason} onChange={setReason} autoComplete="off" required />
      <SelectField label="For" value={seconds} onChange={setSeconds} options={LENGTHS} />
    </ConfirmDialog>
  );
}

function LabelDialog({ hosts, onDone, onClose }: DialogProps) {
  const [name, setName] = useState('');
  const [value, setValue] = useState('');
  const removes = value.trim() === '';
  return (
    <ConfirmDialog
      title={`Label ${whose(hosts)}?`}
      action={removes ? `Take the label from ${plural(hosts.length, 'host')}` : `Label ${plural(hosts.length, 'host')}`}
      mayNot={name.trim() === '' ? 'Enter the name of the label.' : null}
      onClose={onClose}
      onConfirm={async () => {
        const [label, given] = [name.trim(), value.trim()];
        const body = { hosts: [...hosts], set: removes ? {} : { [label]: given }, remove: removes ? [label] : [] };
        const words = removes ? `without ${label}` : `labelled ${label}=${given}`;
        onDone(changeWords(words, await answerOf(client.POST('/api/hosts/label', { body }))));
      }}
    >
      <p>Labels that are given here are for filters and groups. Series keep those that they are sent with.</p>
      <TextField label="Label" value={name} onChange={setName} placeholder="rack" autoComplete="off" required />
      <TextField
        label="Value"
        help="Left empty: the label is taken away."
        value={value}
        onChange={setValue}
        placeholder="7"
        autoComplete="off"
      />
    </ConfirmDialog>
  );
}

function RuleDialog({ hosts, onDone, onClose, metric: first }: DialogProps & { metric: string }) {
  const [metric, setMetric] = useState(first);
  const [as, setAs] = useState<'value' | 'rate'>('value');
  const [direction, setDirection] = useState<'above' | 'below'>('above');
  const [limit, setLimit] = useState('');
  const [severity, setSeverity] = useState<'critical' | 'warning' | 'info'>('warning');
  const number = Number(limit.trim() === '' ? Number.NaN : limit);
  const missing =
    metric.trim() === '' ? 'Enter a metric.' : Number.isFinite(number) ? null : 'Enter a number as limit.';
  return (
    <ConfirmDialog
      title={`A rule for ${whose(hosts)}?`}
      action={`Make the rule for ${plural(hosts.length, 'host')}`}
      mayNot={missing}
      onClose={onClose}
      onConfirm={async () => {
        const name = `${metric.trim()} ${direction} ${limit.trim()}`.slice(0, 200);
        const body = { hosts: [...hosts], name, metric: metric.trim(), as, direction, limit: number, severity };
        onDone(changeWords('watched by a new rule', await answerOf(client.POST('/api/hosts/watch', { body }))));
      }}
    >
      <p>It is one of the threshold rules, where it can be changed. It raises an alert for each host after a minute.</p>
      <TextField
        label="Metric"
        value={metric}
        onChange={setMetric}
        placeholder="node_load1"
        autoComplete="off"
        required
      />
      <SelectField
        label="Of it"
        value={as}
        onChange={setAs}
        options={[
          ['value', 'its value'],
          ['rate', 'how quickly it grows in a second'],
        ]}
      />
      <SelectField
        label="When it stays"
        value={direction}
        onChange={setDirection}
        options={[
          ['above', 'above the limit'],
          ['below', 'below the limit'],
        ]}
      />
      <TextField label="Limit" value={limit} onChange={setLimit} inputMode="decimal" autoComplete="off" required />
      <SelectField
        label="Severity"
        value={severity}
        onChange={setSeverity}
        options={[
          ['critical', 'Critical'],
          ['warning', 'Warning'],
          ['info', 'For information'],
        ]}
      />
    </ConfirmDialog>
  );
}

function RetireDialog({ hosts, onDone, onClose, back }: DialogProps & { back: boolean }) {
  const body = { hosts: [...hosts] };
  return (
    <ConfirmDialog
      title={back ? `Take ${whose(hosts)} back?` : `Retire ${whose(hosts)}?`}
      action={`${back ? 'Take back' : 'Retire'} ${plural(hosts.length, 'host')}`}
      onClose={onClose}
      onConfirm={async () =>
        onDone(
          back
            ? changeWords('taken back', await answerOf(client.POST('/api/hosts/restore', { body })))
            : changeWords('retired', await answerOf(client.POST('/api/hosts/retire', { body }))),
        )
      }
    >
      <p>
        {back
          ? 'They count as absent again, as long as nothing comes from them.'
          : 'They are no longer absent, and not in the list unless it is filtered for them. What they sent stays. One that sends again is back by itself; one that still sends is left out.'}
      </p>
    </ConfirmDialog>
  );
}

const KINDS: readonly [Kind, string][] = [
  ['silence', 'Silence…'],
  ['label', 'Label…'],
  ['rule', 'Make a rule…'],
  ['retire', 'Retire…'],
  ['restore', 'Take back…'],
];

export function HostActions(props: { hosts: readonly string[]; metric: string; onDone: (said: string) => void }) {
  const { hosts, metric, onDone } = props;
  const [open, setOpen] = useState(false);
  const [kind, setKind] = useState<Kind | null>(null);
  const mayNot = useMayNot('operator') ?? (hosts.length === 0 ? 'Choose hosts first.' : null);
  const queries = useQueryClient();
  const dialog = {
    hosts,
    onClose: () => setKind(null),
    onDone: (said: string) => {
      void queries.invalidateQueries({ queryKey: ['hosts'] });
      onDone(said);
    },
  };
  return (
    <>
      <Dropdown
        isOpen={open}
        onOpenChange={setOpen}
        onSelect={() => setOpen(false)}
        toggle={(ref) => (
          <Explained why={mayNot}>
            <MenuToggle ref={ref} isExpanded={open} isDisabled={mayNot !== null} onClick={() => setOpen(!open)}>
              {hosts.length === 0 ? 'Actions' : `Actions on ${plural(hosts.length, 'host')}`}
            </MenuToggle>
          </Explained>
        )}
      >
        <DropdownList>
          {KINDS.map(([one, words]) => (
            <DropdownItem key={one} onClick={() => setKind(one)}>
              {words}
            </DropdownItem>
          ))}
        </DropdownList>
      </Dropdown>
      {kind === 'silence' && <SilenceDialog {...dialog} />}
      {kind === 'label' && <LabelDialog {...dialog} />}
      {kind === 'rule' && <RuleDialog {...dialog} metric={metric} />}
      {kind === 'retire' && <RetireDialog {...dialog} back={false} />}
      {kind === 'restore' && <RetireDialog {...dialog} back />}
    </>
  );
}
