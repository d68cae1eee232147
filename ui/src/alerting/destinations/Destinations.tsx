// Where alerts go, and whether they arrive there.
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'react-router';
import { answerOf, client } from '../../api/client.ts';
import { ifMatch } from '../../api/edits.ts';
import { destinationsQuery } from '../../api/queries.ts';
import { useMayNot } from '../../api/session.ts';
import { ConfirmByName } from '../../forms/ConfirmByName.tsx';
import { AddButton, EmptyList, RemoveButton } from '../../forms/ListActions.tsx';
import { Waiting } from '../../shells/Waiting.tsx';
import { Ago } from '../../words/Ago.tsx';
import { ConditionIcon } from '../../words/ConditionIcon.tsx';
import { plural } from '../../words/format.ts';
import { DigestForm } from './DigestForm.tsx';
import type { Destination } from './destination.ts';

function whereTo(one: Destination): string {
  if (one.email) return `Email to ${one.email.to.join(', ')} by ${one.email.host}:${one.email.port}`;
  if (one.snmp)
    return `SNMPv${one.snmp.version} ${one.snmp.inform ? 'inform' : 'trap'} to ${one.snmp.host}:${one.snmp.port}`;
  if (one.webhook) {
    const form = { json: 'JSON', slack: 'Slack', pagerduty: 'PagerDuty' }[one.webhook.preset];
    return `Webhook (${form}) at ${one.webhook.host}`;
  }
  if (one.syslog) {
    const { host, port, transport } = one.syslog;
    return `Syslog to ${host}:${port}${transport === 'tls' ? ', encrypted' : ''}`;
  }
  return '';
}

export function Destinations() {
  const { data, error, refetch } = useQuery(destinationsQuery);
  const queries = useQueryClient();
  const mayNot = useMayNot('operator');
  const [removing, setRemoving] = useState<Destination | null>(null);
  if (data === undefined) return <Waiting on={{ error, refetch }} />;
  const add = (
    <AddButton to="/alerts/destinations/new" why={mayNot}>
      Add a destination
    </AddButton>
  );
  if (data.length === 0) {
    return (
      <EmptyList title="Alerts go nowhere yet" add={add}>
        They are shown here. Add an email address, a webhook, an SNMP receiver or a syslog server to be notified as
        well.
      </EmptyList>
    );
  }
  return (
    <div className="cistern-stack">
      <div>{add}</div>
      <ul className="cistern-alerts" aria-label="Destinations">
        {data.map((one) => (
          <li key={one.id} className="cistern-alert">
            <div className="cistern-spread">
              <div>
                <ConditionIcon
                  state={one.health.state === 'failing' ? 'warning' : one.health.state === 'ok' ? 'ok' : 'info'}
                />{' '}
                <Link to={`/alerts/destinations/${one.id}`}>{one.name}</Link>
                {!one.enabled && ' (switched off)'}
              </div>
              <RemoveButton what={`the destination ${one.name}`} why={mayNot} onRemove={() => setRemoving(one)} />
            </div>
            <p>{whereTo(one)}</p>
            <p className={one.health.state === 'failing' ? 'cistern-bad' : 'cistern-quiet'}>
              {one.health.state === 'unknown' ? (
                'Nothing has been sent yet.'
              ) : (
                <>
                  Last delivered: <Ago time={one.health.lastSuccessAt} />.
                </>
              )}{' '}
              {one.health.waiting > 0 && `${plural(one.health.waiting, 'message')} waiting. `}
              {one.health.lastError}
            </p>
          </li>
        ))}
      </ul>
      <DigestForm />
      {removing && (
        <ConfirmByName
          title="Remove this destination?"
          name={removing.name}
          action="Remove the destination"
          onClose={() => setRemoving(null)}
          onConfirm={async () => {
            const params = { path: { id: removing.id }, header: ifMatch(removing) };
            await answerOf(client.DELETE('/api/destinations/{id}', { params }));
            await queries.invalidateQueries({ queryKey: ['destinations'] });
          }}
        >
          <p>
            Alerts are no longer sent there
            {removing.health.waiting > 0 && `, and ${plural(removing.health.waiting, 'waiting message')} will not be`}.
          </p>
        </ConfirmByName>
      )}
    </div>
  );
}
