// The wizard: one decision per screen. Where it stands is known by the appliance, so it can be left and resumed, also
// from another browser.
import { Button, Card, CardBody, CardTitle, ProgressStep, ProgressStepper } from '@patternfly/react-core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { useLocation, useNavigate } from 'react-router';
import { DestinationForm } from '../../alerting/destinations/DestinationForm.tsx';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { nowKnown } from '../../api/known.ts';
import { asProblem, fieldMessage } from '../../api/problem.ts';
import {
  destinationsQuery,
  disksQuery,
  inputsQuery,
  jobsQuery,
  poolsQuery,
  sessionQuery,
  setupQuery,
} from '../../api/queries.ts';
import { TextField } from '../../forms/Field.tsx';
import { FormShell } from '../../forms/FormShell.tsx';
import { Connection } from '../../shells/Connection.tsx';
import { PoolForm } from '../../storage/pools/PoolForm.tsx';
import { LiveCharts } from '../../system/status/LiveCharts.tsx';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { IdentityForm } from '../identity/IdentityForm.tsx';
import { ownWords } from '../inputs/Inputs.tsx';

type Setup = Schemas['Setup'];
type Step = Setup['step'];

const steps: readonly [Step, string][] = [
  ['code', 'Set-up code'],
  ['administrator', 'Administrator'],
  ['identity', 'Name and time zone'],
  ['pool', 'Storage'],
  ['destinations', 'Alerts'],
  ['done', 'Done'],
];

function useSetup() {
  const queries = useQueryClient();
  return {
    set: (setup: Setup) => nowKnown(queries, setupQuery.queryKey, setup),
    reread: () => queries.invalidateQueries({ queryKey: ['setup'] }),
  };
}

function useStep() {
  const { set } = useSetup();
  return useMutation({
    mutationFn: (step: 'pool' | 'destinations' | 'done') =>
      answerOf(client.POST('/api/setup/go-to-step', { body: { step } })),
    onSuccess: set,
  });
}

function CodeStep({ onGiven }: { onGiven: () => void }) {
  const [code, setCode] = useState('');
  const { hash } = useLocation();
  const navigate = useNavigate();
  const { set } = useSetup();
  // The console's QR code has the set-up code in the address's fragment, which no browser sends. It goes into the field, and
  // not into the history.
  useEffect(() => {
    if (hash === '') return;
    const scanned = new URLSearchParams(hash.slice(1)).get('code');
    if (scanned !== null) setCode(scanned.toUpperCase());
    void navigate({ hash: '' }, { replace: true });
  }, [hash, navigate]);
  const give = useMutation({
    mutationFn: () => answerOf(client.POST('/api/setup/enter-code', { body: { code: code.trim() } })),
    onSuccess: async (setup) => {
      await set(setup);
      onGiven();
    },
  });
  return (
    <FormShell
      submit="Continue"
      onSubmit={() => give.mutate()}
      busy={give.isPending}
      error={give.error}
      mayNot={code.trim() === '' ? 'Enter the set-up code.' : null}
    >
      <p>
        The appliance shows a set-up code on its console: the screen, or the serial port. It proves that you are the one
        who installed it, and it can be used once.
      </p>
      <TextField
        label="Set-up code"
        value={code}
        onChange={(text) => setCode(text.toUpperCase())}
        placeholder="XXXX-XXXX-XXXX"
        autoComplete="off"
        autoFocus
        required
      />
    </FormShell>
  );
}

interface Draft {
  readonly name: string;
  readonly password: string;
  readonly again: string;
}

function AdministratorStep(props: {
  /** Kept by the page: who has to give the code once more in between loses nothing. */
  draft: Draft;
  onDraft: (draft: Draft) => void;
  onRefused: () => void;
}) {
  const { draft, onDraft, onRefused } = props;
  const { name, password, again } = draft;
  const write = (field: keyof Draft) => (text: string) => onDraft({ ...draft, [field]: text });
  const [tried, setTried] = useState(false);
  const queries = useQueryClient();
  const { reread } = useSetup();
  const create = useMutation({
    mutationFn: () =>
      answerOf(client.POST('/api/setup/create-administrator', { body: { name: name.trim(), password } })),
    onSuccess: async (session) => {
      await nowKnown(queries, sessionQuery.queryKey, session);
      await reread();
    },
    onError: (error) => {
      if (asProblem(error).code === 'unauthenticated') onRefused();
    },
  });
  const problem = create.error ? asProblem(create.error) : null;
  const differ = tried && password !== again ? 'This is not the same as above.' : undefined;
  return (
    <FormShell
      submit="Create the administrator"
      busy={create.isPending}
      error={create.error}
      fields={['/name', '/password']}
      mayNot={name.trim() === '' ? 'Enter a name.' : password === '' ? 'Choose a password.' : null}
      onSubmit={() => {
        setTried(true);
        if (password === again) create.mutate();
      }}
    >
      <p>The administrator may do everything. There is no default password: choose one that is not used elsewhere.</p>
      <TextField
        label="Name"
        value={name}
        onChange={write('name')}
        error={fieldMessage(problem, '/name')}
        autoComplete="username"
        required
      />
      <TextField
        label="Password"
        type="password"
        value={password}
        onChange={write('password')}
        error={fieldMessage(problem, '/password')}
        help="At least 10 characters. A few words in a row are easy to remember and hard to guess."
        autoComplete="new-password"
        autoFocus
        required
      />
      <TextField
        label="Password again"
        type="password"
        value={again}
        onChange={write('again')}
        error={differ}
        live
        autoComplete="new-password"
        required
      />
    </FormShell>
  );
}

function IdentityStep({ setup }: { setup: Setup }) {
  const { set } = useSetup();
  return <IdentityForm setup={setup} submit="Continue" isFirst onSaved={set} />;
}

function PoolStep() {
  const { data: disks } = useQuery(disksQuery);
  const { data: pools } = useQuery(poolsQuery);
  const { reread } = useSetup();
  const next = useStep();
  const queries = useQueryClient();
  const systemPool = pools?.items.find((pool) => pool.system)?.name ?? 'system';
  const onSystem = useMutation({
    mutationFn: () =>
      answerOf(client.POST('/api/pools/{name}/place-telemetry', { params: { path: { name: systemPool } } })),
    onSuccess: async (job) => {
      // Short work, but a job all the same: go on when it is done.
      for (let ended = false; !ended; ) {
        const { state, error } = await answerOf(client.GET('/api/jobs/{id}', { params: { path: { id: job.id } } }));
        if (state === 'failed') throw Object.assign(new Error(error?.detail ?? 'It failed.'), { problem: error });
        ended = state !== 'running';
        if (!ended) await new Promise((resolve) => setTimeout(resolve, 300));
      }
      await queries.invalidateQueries({ queryKey: jobsQuery.queryKey });
      await reread();
      next.mutate('destinations');
    },
  });
  // While this page makes the pool and goes on it stays: the list of pools may know it before its job has ended.
  const [making, setMaking] = useState(false);
  const placed = making && !next.isError ? undefined : pools?.items.find((pool) => pool.telemetry);
  const free = disks?.items.some((disk) => disk.state === 'available') ?? true;
  if (placed) {
    return (
      <div className="cistern-form">
        <p>
          The measurements are kept on the pool <strong>{placed.name}</strong>. {placed.sentence}
        </p>
        <ProblemAlert error={next.error} />
        <div>
          <Button isLoading={next.isPending} onClick={() => next.mutate('destinations')}>
            Continue
          </Button>
        </div>
      </div>
    );
  }
  return (
    <>
      <p>
        A pool joins disks, so that data survives the loss of one. The measurements are kept on it.
        {!free &&
          ' This machine has no disk to spare: the measurements can be kept on the disk the appliance itself is on, where nothing protects them from its loss.'}
      </p>
      <ProblemAlert error={onSystem.error ?? next.error} />
      <PoolForm
        submit="Create the pool"
        forTelemetry
        onStart={() => setMaking(true)}
        onDone={() => next.mutate('destinations')}
        more={
          <Button variant="link" isLoading={onSystem.isPending} onClick={() => onSystem.mutate()}>
            Keep them on the system disk instead
          </Button>
        }
      />
    </>
  );
}

function DestinationsStep() {
  const { data: destinations = [] } = useQuery(destinationsQuery);
  const [adding, setAdding] = useState(false);
  const next = useStep();
  if (destinations.length > 0 && !adding) {
    return (
      <div className="cistern-form">
        <p>Alerts are sent to:</p>
        <ul className="cistern-list">
          {destinations.map((one) => (
            <li key={one.id}>{one.name}</li>
          ))}
        </ul>
        <ProblemAlert error={next.error} />
        <div className="cistern-actions">
          <Button isLoading={next.isPending} onClick={() => next.mutate('done')}>
            Continue
          </Button>
          <Button variant="link" onClick={() => setAdding(true)}>
            Add another
          </Button>
        </div>
      </div>
    );
  }
  return (
    <>
      <p>
        Where should alerts be sent, when a disk fails or a limit is passed? Send a test first: it shows the whole
        exchange with the server.
      </p>
      <ProblemAlert error={next.error} />
      <DestinationForm
        submit="Add the destination"
        onSaved={() => setAdding(false)}
        more={
          <Button variant="link" isLoading={next.isPending} onClick={() => next.mutate('done')}>
            Skip: alerts only show in this interface
          </Button>
        }
      />
    </>
  );
}

function DoneStep({ setup }: { setup: Setup }) {
  const { set } = useSetup();
  const finish = useMutation({ mutationFn: () => answerOf(client.POST('/api/setup/finish')), onSuccess: set });
  const navigate = useNavigate();
  /** @param to where the frame goes once the set-up is finished */
  const finishAndGo = (to: string) => {
    navigate(`/setup?to=${encodeURIComponent(to)}`, { replace: true });
    finish.mutate();
  };
  // The store starts with the pool, and is told from where to take samples soon after: ask until it was.
  const { data: inputs } = useQuery({ ...inputsQuery, refetchInterval: 3_000 });
  const statsd = inputs?.find(({ name }) => name === 'statsd');
  return (
    <div className="cistern-form">
      <p className="cistern-sentence">{setup.hostName} is set up, and already measures itself once a second:</p>
      <LiveCharts range={60} only={2} />
      <p>
        Send your own to it next: Explore has the lines for statsd, Prometheus, Telegraf and others, with this
        appliance’s address and a token. statsd goes to port 8125 of <code>{location.hostname}</code>. Finishing makes
        the set-up code worthless.
      </p>
      {statsd?.networks.includes('own') && (
        <p>
          statsd and the other inputs that ask for no password listen to the appliance's own networks:{' '}
          {ownWords(statsd)}. Widen that under Settings → Inputs.
        </p>
      )}
      <ProblemAlert error={finish.error} />
      <div className="cistern-actions">
        <Button isLoading={finish.isPending} onClick={() => finishAndGo('/analytics/explore')}>
          Finish, and send a first sample
        </Button>
        <Button variant="link" isDisabled={finish.isPending} onClick={() => finishAndGo('/status')}>
          Finish
        </Button>
      </div>
    </div>
  );
}

export default function SetupPage() {
  const { data: setup } = useQuery(setupQuery);
  /** The code was given too long ago: it must be given again. */
  const [refused, setRefused] = useState(false);
  const [draft, setDraft] = useState<Draft>({ name: 'admin', password: '', again: '' });
  useEffect(() => {
    document.title = 'Set up · Cistern';
  }, []);
  if (setup === undefined) return null;
  const step: Step = refused && setup.step === 'administrator' ? 'code' : setup.step;
  const at = steps.findIndex(([name]) => name === step);
  return (
    <>
      <Connection storeExpected={step === 'done'} />
      <main className="cistern-alone">
        <Card className="cistern-wizard">
          <CardTitle>
            <h1>
              <img src="/icon.svg" alt="" width="28" height="28" /> Set up {setup.hostName}
            </h1>
            <ProgressStepper aria-label="Set-up steps" className="cistern-wide">
              {steps.map(([name, title], index) => (
                <ProgressStep
                  key={name}
                  id={`setup-${name}`}
                  titleId={`setup-title-${name}`}
                  variant={index < at ? 'success' : index === at ? 'info' : 'pending'}
                  isCurrent={index === at}
                  aria-label={`${title}: ${index < at ? 'done' : index === at ? 'now' : 'later'}`}
                >
                  {title}
                </ProgressStep>
              ))}
            </ProgressStepper>
          </CardTitle>
          <CardBody>
            <h2 className="cistern-steptitle">{steps[at]?.[1]}</h2>
            <p className="cistern-narrow cistern-quiet">
              Step {at + 1} of {steps.length}
            </p>
            {step === 'code' && <CodeStep onGiven={() => setRefused(false)} />}
            {step === 'administrator' && (
              <AdministratorStep draft={draft} onDraft={setDraft} onRefused={() => setRefused(true)} />
            )}
            {step === 'identity' && <IdentityStep setup={setup} />}
            {step === 'pool' && <PoolStep />}
            {step === 'destinations' && <DestinationsStep />}
            {step === 'done' && <DoneStep setup={setup} />}
          </CardBody>
        </Card>
      </main>
    </>
  );
}
