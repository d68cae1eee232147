// Lines to paste into ten clients, with this appliance's address and ports.
import { Title } from '@patternfly/react-core';
import { useState } from 'react';
import { Link } from 'react-router';
import type { Schemas } from '../../api/client.ts';
import { Field } from '../../forms/Field.tsx';
import { clients, TOKEN } from './lines.ts';

export function Paste({ inputs }: { inputs: readonly Schemas['Input'][] }) {
  const [name, setName] = useState(clients[0]?.name);
  const client = clients.find((one) => one.name === name);
  const port = (input: string, usual: number) => {
    const listens = inputs.find((one) => one.name === input)?.listens[0];
    return listens === undefined ? usual : Number(listens.slice(listens.lastIndexOf(':') + 1));
  };
  const portTls = (input: string, usual: number) => {
    const listens = inputs.find((one) => one.name === input)?.tlsListens;
    return listens ? Number(listens.slice(listens.lastIndexOf(':') + 1)) : usual;
  };
  const { hostname: host, origin } = location;
  const text = client?.text({
    ...{ host, origin },
    ...{ statsd: port('statsd', 8125), graphite: port('graphite', 2003) },
    ...{ statsdTls: portTls('statsd', 8127), graphiteTls: portTls('graphite', 2005) },
    influxTls: portTls('influx_socket', 8090),
  });
  const input = inputs.find((one) => one.name === client?.input);
  const off = input?.enabled === false;
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
      {client && text && (
        <>
          <p>
            Paste this into {client.into}.{off && ' Its input is off: switch it on above first.'}
            {client.tls && input?.tlsListens === null && ' Its input has no port for TLS: give it one above first.'}
            {client.tls && ' The certificate of the TLS ports goes beside it, as cistern.pem: it is downloaded above.'}
            {client.tls && input?.tlsClientCa && ' The client needs a certificate of its own as well.'}
            {text.includes(TOKEN) && (
              <>
                {' '}
                In place of {TOKEN} goes an <Link to="/settings/tokens">API token</Link> of the role writer, and the
                client must trust the appliance’s certificate.
              </>
            )}
          </p>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it */}
          <section className="cistern-exchange" tabIndex={0} aria-label={`Lines for ${client.name}`}>
            <pre>{text}</pre>
          </section>
        </>
      )}
    </section>
  );
}
