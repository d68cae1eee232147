// Every alert class of this appliance: what an alert of it would say, what to do, and where it is sent.
import {
  Button,
  EmptyState,
  ExpandableSection,
  Label,
  Modal,
  ModalBody,
  ModalHeader,
  SearchInput,
  Switch,
} from '@patternfly/react-core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useSearchParams } from 'react-router';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { keepTyped, useEdited } from '../../api/edits.ts';
import { alertClassesQuery, destinationsQuery } from '../../api/queries.ts';
import { useMayNot } from '../../api/session.ts';
import { Explained } from '../../forms/Explained.tsx';
import { FormShell } from '../../forms/FormShell.tsx';
import { Waiting } from '../../shells/Waiting.tsx';
import { Ago } from '../../words/Ago.tsx';
import { ConditionIcon } from '../../words/ConditionIcon.tsx';
import { duration, plural } from '../../words/format.ts';
import { ActionFields } from '../ActionFields.tsx';
import { EscalationFields, Recipients } from '../destinations/Recipients.tsx';

type Kind = Schemas['AlertKind'];

const routeOf = ({ muted, destinations, escalation, actions = [] }: Kind) => ({
  muted,
  destinations,
  escalation,
  actions,
});

function RouteForm({ kind, onClose }: { kind: Kind; onClose: () => void }) {
  const [route, setRoute] = useState(() => routeOf(kind));
  const path = { name: kind.class };
  const edit = useEdited({
    now: kind,
    read: () => answerOf(client.GET('/api/alert-classes/{name}', { params: { path } })),
    onLoad: (current, before) => setRoute((mine) => keepTyped(mine, routeOf(before), routeOf(current))),
  });
  const queries = useQueryClient();
  const save = useMutation({
    mutationFn: () =>
      edit.guard(
        answerOf(client.PUT('/api/alert-classes/{name}', { params: { path, header: edit.header }, body: route })),
      ),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['alert-classes'] });
      onClose();
    },
  });
  return (
    <Modal isOpen variant="medium" onClose={onClose} aria-labelledby="route-title">
      <ModalHeader title={`Where ${kind.class} goes`} labelId="route-title" />
      <ModalBody>
        <FormShell
          submit="Save"
          busy={save.isPending}
          error={save.error}
          onSubmit={() => save.mutate()}
          cancel={onClose}
        >
          <Switch
            label={
              kind.optional
                ? 'Muted: not sent, and in the log only when it does something'
                : 'Muted: kept in the log, not sent'
            }
            isChecked={route.muted}
            onChange={(_event, muted) => setRoute({ ...route, muted })}
          />
          {!route.muted && (
            <>
              <Recipients
                all="All destinations, including those added later"
                chosen={route.destinations}
                onChange={(destinations) => setRoute({ ...route, destinations })}
              />
              {!kind.transient && (
                <EscalationFields
                  none="it is not sent to anyone else"
                  value={route.escalation}
                  onChange={(escalation) => setRoute({ ...route, escalation })}
                />
              )}
              {kind.class.startsWith('threshold.') && (
                <p className="cistern-quiet">A rule that names destinations of its own goes to those.</p>
              )}
            </>
          )}
          <ActionFields
            actions={route.actions}
            set={(actions) => setRoute({ ...route, actions })}
            transient={kind.transient}
          />
        </FormShell>
      </ModalBody>
    </Modal>
  );
}

function Item({ kind, onRoute }: { kind: Kind; onRoute: () => void }) {
  const [open, setOpen] = useState(false);
  const mayNot = useMayNot('operator');
  const { data: destinations = [] } = useQuery(destinationsQuery);
  const named = (ids: readonly string[]) =>
    ids.map((id) => destinations.find((one) => one.id === id)?.name ?? 'a destination that is gone').join(', ');
  const worst = kind.severities[0] ?? 'info';
  return (
    <li className="cistern-alert">
      <div className="cistern-spread">
        <div>
          <ConditionIcon state={worst} /> <strong>{kind.class}</strong>{' '}
          {kind.active > 0 && (
            <Label isCompact color="orange">
              {kind.active} active
            </Label>
          )}{' '}
          {kind.muted && (
            <Label isCompact color="grey">
              {kind.optional ? 'off' : 'muted'}
            </Label>
          )}
        </div>
        <Explained why={mayNot}>
          <Button
            variant="link"
            isInline
            isAriaDisabled={mayNot !== null}
            aria-label={`Where it goes: ${kind.class}`}
            onClick={onRoute}
          >
            Where it goes
          </Button>
        </Explained>
      </div>
      <p>For instance: {kind.title}</p>
      <p className="cistern-quiet">
        {kind.muted
          ? kind.optional && (kind.actions ?? []).length === 0
            ? 'Not looked for'
            : 'Kept in the log, not sent'
          : `Goes to ${kind.destinations.length === 0 ? 'every destination' : named(kind.destinations)}`}
        {kind.escalation &&
          `; not acknowledged for ${duration(kind.escalation.afterSeconds)}, to ${named(kind.escalation.destinations)}`}
        {(kind.actions ?? []).length > 0 && `; ${plural((kind.actions ?? []).length, 'action')}`}.{' '}
        {kind.lastRaisedAt && (
          <>
            Last raised <Ago time={kind.lastRaisedAt} />.
          </>
        )}
      </p>
      <ExpandableSection
        toggleText={open ? 'Less' : 'What it means and what to do'}
        isExpanded={open}
        onToggle={(_event, now) => setOpen(now)}
      >
        {open && (
          <div className="cistern-alertdetails">
            <dl>
              {[
                ['It would say', kind.text],
                ['What it means', kind.impact],
                ['What is done', kind.response],
                ['What to do', kind.action],
                ['Severity', kind.severities.join(' or ')],
                [
                  'Raised',
                  kind.transient
                    ? 'when it happens; it does not last'
                    : kind.visibleAfterSeconds > 0
                      ? `when it has lasted for ${duration(kind.visibleAfterSeconds)}`
                      : 'at once',
                ],
                ['Not raised while it is explained by', kind.explainedBy.join(', ')],
              ]
                .filter(([, text]) => text)
                .map(([term, text]) => (
                  <div key={term}>
                    <dt>{term}</dt>
                    <dd>{text}</dd>
                  </div>
                ))}
            </dl>
          </div>
        )}
      </ExpandableSection>
    </li>
  );
}

export function Catalogue() {
  const { data, error, refetch } = useQuery(alertClassesQuery);
  const [query, setQuery] = useSearchParams();
  const [routing, setRouting] = useState<Kind | null>(null);
  const search = query.get('search') ?? '';
  if (data === undefined) return <Waiting on={{ error, refetch }} />;
  const wanted = search.toLowerCase();
  const found = data.filter((kind) =>
    [kind.class, kind.title, kind.text, kind.impact, kind.action].join('\n').toLowerCase().includes(wanted),
  );
  return (
    <div className="cistern-stack">
      <div>
        <div className="cistern-find">
          <SearchInput
            aria-label="Search the catalogue"
            placeholder="disk, full, failed …"
            value={search}
            onChange={(_event, value) => setQuery(value === '' ? {} : { search: value }, { replace: true })}
            onClear={() => setQuery({}, { replace: true })}
          />
        </div>
        <p>{plural(found.length, 'alert class', 'alert classes')}.</p>
      </div>
      {found.length === 0 ? (
        <EmptyState headingLevel="h2" titleText="No alert class matches" />
      ) : (
        <ul className="cistern-alerts" aria-label="Alert classes">
          {found.map((kind) => (
            <Item key={kind.class} kind={kind} onRoute={() => setRouting(kind)} />
          ))}
        </ul>
      )}
      {routing && <RouteForm kind={routing} onClose={() => setRouting(null)} />}
    </div>
  );
}
