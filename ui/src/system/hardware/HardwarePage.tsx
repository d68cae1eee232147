// The machine's parts: how they are in one sentence, what is wrong, and then each part.
import { Alert } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { PageShell } from '../../shells/PageShell.tsx';
import { Waiting } from '../../shells/Waiting.tsx';
import { ConditionIcon } from '../../words/ConditionIcon.tsx';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { MaintenanceTabs } from '../MaintenanceTabs.tsx';
import { Errors } from './Errors.tsx';
import { Changes, EventLog } from './History.tsx';
import { ControllerCard, MachineCard } from './MachineFacts.tsx';
import { Cards, Memory, Ports, Processors, Slots } from './Parts.tsx';
import { type Hardware, hardwareQuery } from './queries.ts';
import { Section } from './Section.tsx';
import { Sensors } from './Sensors.tsx';
import { Troubles } from './Troubles.tsx';
import { missing, watchdogWords } from './words.ts';

function Watchdogs({ watchdogs }: Pick<Hardware, 'watchdogs'>) {
  if (watchdogs.length === 0) return null;
  return (
    <Section id="watchdog" title="Watchdog">
      {watchdogs.map((one) => (
        <p key={one.title}>
          <ConditionIcon state={one.active ? 'ok' : 'info'} /> {watchdogWords(one)}
        </p>
      ))}
    </Section>
  );
}

function NotThere({ hardware }: { hardware: Hardware }) {
  const sentences = missing(hardware);
  if (sentences.length === 0) return null;
  return (
    <Section id="missing" title="What cannot be seen here">
      <ul className="cistern-plain">
        {sentences.map((sentence) => (
          <li key={sentence}>{sentence}</li>
        ))}
      </ul>
    </Section>
  );
}

export default function HardwarePage() {
  const { data, error, refetch } = useQuery(hardwareQuery);
  if (data === undefined) return <Waiting on={{ error, refetch }} page />;
  const problems = [...new Set(data.problems)];
  return (
    <PageShell
      title="Hardware"
      state={data.state}
      sentence={data.sentence}
      tabs={<MaintenanceTabs active="hardware" />}
    >
      <div className="cistern-stack">
        {error && <ProblemAlert error={error} retry={() => void refetch()} stale />}
        {problems.length > 0 && (
          <Alert isInline component="p" variant="warning" title="Not everything could be read">
            {problems.map((text) => (
              <p key={text}>{text}</p>
            ))}
            <p>It is tried again every minute. What is missing below may be there all the same.</p>
          </Alert>
        )}
        <Troubles hardware={data} />
        <div className="cistern-halves">
          <MachineCard summary={data.summary} memoryBytes={data.memoryBytes} />
          <ControllerCard controller={data.controller} sensors={data.sensors} />
        </div>
        <Sensors sensors={data.sensors} />
        <Errors errors={data.errors} />
        <Ports ports={data.ports} cards={data.cards} />
        <Slots slots={data.slots} />
        <Memory memory={data.memory} memoryBytes={data.memoryBytes} />
        <Processors processors={data.processors} />
        <Cards cards={data.cards} />
        <Watchdogs watchdogs={data.watchdogs} />
        <NotThere hardware={data} />
        <Changes changes={data.changes} />
        {data.controller.state !== 'none' && <EventLog />}
      </div>
    </PageShell>
  );
}
