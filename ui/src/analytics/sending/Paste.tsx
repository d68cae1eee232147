// Lines to paste into ten clients, with this appliance's address and ports.
import { Button, Title } from '@patternfly/react-core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'react-router';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { useMayNot } from '../../api/session.ts';
import { Explained } from '../../forms/Explained.tsx';
import { Field } from '../../forms/Field.tsx';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { clients, TOKEN } from './lines.ts';

export function Paste({ inputs }: { inputs: readonly Schemas['Input'][] }) {
  const [name, setName] = useState(clients[0]?.name);
  const chosen = clients.find((one) => one.name === name);
  const queries = useQueryClient();
  const mayNot = useMayNot('operator');
  const port = (input: string, usual: number) => {
    const listens = inputs.find((one) => one.name === input)?.listens[0];
    return listens === undefined ? usual : Number(listens.slice(listens.lastIndexOf(':') + 1));
  };
  const portTls = (input: string, usual: number) => {
    const listens = inputs.find((one) => one.name === input)?.tlsListens;
    return listens ? Number(listens.slice(listens.lastIndexOf(':') + 1)) : usual;
  };
  const { hostname: host, origin } = location;
  const lines = chosen?.text({
    ...{ host, origin },
    ...{ statsd: port('statsd', 8125), graphite: port('graphite', 2003) },
    ...{ statsdTls: portTls('statsd', 8127), graphiteTls: portTls('graphite', 2005) },
    influxTls: portTls('influx_socket', 8090),
  });
  const input = inputs.find((one) => one.name === chosen?.input);
  const off = input?.enabled === false;
  const [token, setToken] = useState<string | null>(null);
  const make = useMutation({
    mutationFn: () =>
      answerOf(client.POST('/api/tokens', { body: { name: `Lines for ${name}`, role: 'writer', expiresInDays: 365 } })),
    onSuccess: (made) => {
      setToken(made.token ?? null);
      return queries.invalidateQueries({ queryKey: ['tokens'] });
    },
  });
  return (
    <section aria-labelledby="input-lines">
      <Title headingLevel="h2" size="lg" id="input-lines">
        Send from
      </Title>
      <Field label="Client">
        {(id) => (
          <select id={id} className="cistern-select" value={name} onChange={(event) => setName(event.target.value)}>
            {clients.map((one) => (
              <option key={one.name}>{one.name}</option>
            ))}
          </select>
        )}
      </Field>
      {chosen && lines && (
        <>
          <p>
            Paste this into {chosen.into}.{off && ' Its input is off: switch it on above first.'}
            {chosen.tls && input?.tlsListens === null && ' Its input has no port for TLS: give it one above first.'}
            {chosen.tls && ' The certificate of the TLS ports goes beside it, as cistern.pem: it is downloaded above.'}
            {chosen.tls && input?.tlsClientCa && ' The client needs a certificate of its own as well.'}
            {lines.includes(TOKEN) &&
              (token === null ? (
                <>
                  {' '}
                  In place of {TOKEN} goes an <Link to="/settings/tokens">API token</Link> of the role writer, and the
                  client must trust the appliance’s certificate.
                </>
              ) : (
                ' The token in it is shown this once: copy it now. The client must trust the appliance’s certificate.'
              ))}
          </p>
          {lines.includes(TOKEN) && token === null && (
            <div>
              <ProblemAlert error={make.error} />
              <Explained why={mayNot}>
                <Button
                  variant="secondary"
                  isLoading={make.isPending}
                  isAriaDisabled={mayNot !== null}
                  onClick={() => make.mutate()}
                >
                  Make a token for it
                </Button>
              </Explained>
            </div>
          )}
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it */}
          <section className="cistern-exchange" tabIndex={0} aria-label={`Lines for ${chosen.name}`}>
            <pre>{token === null ? lines : lines.replaceAll(TOKEN, token)}</pre>
          </section>
        </>
      )}
    </section>
  );
}
