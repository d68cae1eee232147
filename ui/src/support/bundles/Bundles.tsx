// Support bundles: one button; the steps tick off as they end; a failed one says why, and the rest is still useful.
import {
  Button,
  Card,
  CardBody,
  CardTitle,
  EmptyState,
  EmptyStateBody,
  Progress,
  Spinner,
} from '@patternfly/react-core';
import PendingIcon from '@patternfly/react-icons/dist/esm/icons/pending-icon';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { bundlesQuery } from '../../api/queries.ts';
import { useMayNot } from '../../api/session.ts';
import { ConfirmByName } from '../../forms/ConfirmByName.tsx';
import { Explained } from '../../forms/Explained.tsx';
import { PageLoading } from '../../shells/Waiting.tsx';
import { Ago } from '../../words/Ago.tsx';
import { ConditionIcon } from '../../words/ConditionIcon.tsx';
import { bytes, exactBytes, plural, seconds } from '../../words/format.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { BundleOptions, type NewBundle } from './NewBundle.tsx';

type Bundle = Schemas['Bundle'];
type Step = Bundle['steps'][number];

/** The rest is one click further. */
const MAX_FAILURES = 5;

const marks: Record<Step['state'], ReactNode> = {
  waiting: <PendingIcon aria-hidden />,
  running: <Spinner size="sm" aria-label="Running" />,
  done: <ConditionIcon state="ok" />,
  failed: <ConditionIcon state="warning" />,
  timeout: <ConditionIcon state="warning" />,
};
const words = {
  waiting: 'waiting',
  running: 'running',
  done: 'done',
  failed: 'failed',
  timeout: 'took too long',
} as const;

function describe(step: Step): string {
  const parts: string[] = [words[step.state]];
  if (step.seconds !== undefined) parts.push(seconds(step.seconds));
  if (step.bytes !== undefined) parts.push(bytes(step.bytes));
  return parts.join(', ') + (step.error ? `: ${step.error}` : '');
}

function Steps({ steps }: { steps: readonly Step[] }) {
  return (
    <ul aria-label="Steps" className="cistern-steps">
      {steps.map((step) => (
        <li key={`${step.category}/${step.name}`} data-state={step.state}>
          {marks[step.state]}
          <div>
            {step.name} <small className="cistern-quiet">{describe(step)}</small>
          </div>
        </li>
      ))}
    </ul>
  );
}

interface CardProps {
  bundle: Bundle;
  mayNot: string | null;
  onRemove: () => void;
  onRetry: (() => void) | null;
}

function BundleCard({ bundle, mayNot, onRemove, onRetry }: CardProps) {
  const [open, setOpen] = useState(false);
  const building = bundle.state === 'building';
  const bad = bundle.steps.filter((step) => step.state === 'failed' || step.state === 'timeout');
  return (
    <Card component="section" aria-label={`Support bundle ${bundle.name}`}>
      <CardTitle component="h3">{bundle.name}</CardTitle>
      <CardBody>
        {building ? (
          <Progress
            value={bundle.percent}
            title={bundle.step ?? 'Starting'}
            helperText={`${bytes(bundle.bytes)} so far`}
            aria-label={`Making ${bundle.name}`}
          />
        ) : (
          <p>
            Made <Ago time={bundle.createdAt} />, <span title={exactBytes(bundle.bytes)}>{bytes(bundle.bytes)}</span>
            {bundle.encrypted && ', encrypted'}
            {bundle.pseudonyms && ', without host names and addresses'}.{' '}
            {bundle.state === 'failed' && (
              <strong className="cistern-bad">It could not be made. {bundle.error} </strong>
            )}
            {bundle.state === 'cancelled' && 'It was cancelled. '}
            {bundle.state === 'done' &&
              (bad.length > 0
                ? `${plural(bad.length, 'step')} of ${bundle.steps.length} failed; the bundle is still useful.`
                : `All ${bundle.steps.length} steps ended well.`)}
          </p>
        )}
        {bundle.note && <p>{bundle.note}</p>}
        {bundle.place === 'usb' && bundle.state === 'done' && (
          <p>
            It is on the disk {bundle.device}, as <code>{bundle.file}</code>.
          </p>
        )}
        {!building && bad.length > 0 && !open && (
          <ul className="cistern-bad">
            {bad.slice(0, MAX_FAILURES).map((step) => (
              <li key={step.category + step.name}>
                {step.name}: {describe(step)}
              </li>
            ))}
            {bad.length > MAX_FAILURES && <li>and {bad.length - MAX_FAILURES} more</li>}
          </ul>
        )}
        {(building || open) && <Steps steps={bundle.steps} />}
        <div className="cistern-actions">
          {bundle.state === 'done' && bundle.place !== 'usb' && (
            <Button
              component="a"
              href={`/api/bundles/${encodeURIComponent(bundle.id)}/content`}
              download
              aria-label={`Download ${bundle.name}`}
            >
              Download
            </Button>
          )}
          {!building && bundle.steps.length > 0 && (
            <Button variant="link" onClick={() => setOpen(!open)} aria-expanded={open}>
              {open ? 'Hide the steps' : 'Show the steps'}
            </Button>
          )}
          {onRetry && (
            <Button variant="link" onClick={onRetry}>
              Run the failed steps again
            </Button>
          )}
          <Explained why={mayNot}>
            <Button
              variant="link"
              isDanger
              isAriaDisabled={mayNot !== null}
              onClick={onRemove}
              aria-label={`${building ? 'Cancel' : 'Delete'} ${bundle.name}`}
            >
              {building ? 'Cancel' : 'Delete'}
            </Button>
          </Explained>
        </div>
        {bundle.sha256 && (
          <p className="cistern-quiet cistern-hash">
            SHA-256 <code>{bundle.sha256}</code>
          </p>
        )}
      </CardBody>
    </Card>
  );
}

export function Bundles() {
  const mayNot = useMayNot('operator');
  const { data, error, refetch } = useQuery({ ...bundlesQuery, enabled: mayNot === null });
  const queries = useQueryClient();
  const [removing, setRemoving] = useState<Bundle | null>(null);
  const reread = () => queries.invalidateQueries({ queryKey: ['bundles'] });
  const [options, setOptions] = useState<NewBundle>({});
  const make = useMutation({
    mutationFn: () => answerOf(client.POST('/api/bundles', { body: options })),
    onSuccess: reread,
  });
  const retry = useMutation({
    mutationFn: (bundle: Bundle) =>
      answerOf(client.POST('/api/bundles/{id}/retry', { params: { path: { id: bundle.id } } })),
    onSuccess: reread,
  });
  const remove = async (bundle: Bundle) => {
    await answerOf(client.DELETE('/api/bundles/{id}', { params: { path: { id: bundle.id } } }));
    await reread();
  };
  const building = data?.some((bundle) => bundle.state === 'building') ?? false;
  const why = mayNot ?? (building ? 'One is being made.' : null);
  return (
    <div className="cistern-stack">
      <p>
        A support bundle holds logs, states and configuration: what is needed to find out what went wrong. Passwords and
        other secrets are removed before it is written.
      </p>
      <div>
        <Explained why={why}>
          <Button isAriaDisabled={why !== null} isLoading={make.isPending} onClick={() => make.mutate()}>
            Make a support bundle
          </Button>
        </Explained>
      </div>
      {mayNot === null && <BundleOptions value={options} onChange={setOptions} />}
      <ProblemAlert error={make.error ?? retry.error} />
      {error && <ProblemAlert error={error} retry={() => void refetch()} stale={data !== undefined} />}
      {data === undefined && !error && mayNot === null && <PageLoading />}
      {data?.map((bundle) => (
        <BundleCard
          key={bundle.id}
          bundle={bundle}
          mayNot={mayNot}
          onRetry={
            mayNot === null &&
            !building &&
            bundle.state === 'done' &&
            !bundle.encrypted &&
            bundle.place !== 'usb' &&
            bundle.steps.some((step) => step.state !== 'done')
              ? () => retry.mutate(bundle)
              : null
          }
          onRemove={() => (bundle.state === 'building' ? void remove(bundle) : setRemoving(bundle))}
        />
      ))}
      {data?.length === 0 && (
        <EmptyState headingLevel="h3" titleText="No bundle has been made" variant="sm">
          <EmptyStateBody>Making one takes about a minute and disturbs nothing.</EmptyStateBody>
        </EmptyState>
      )}
      {removing && (
        <ConfirmByName
          title="Delete this support bundle?"
          name={removing.name}
          action="Delete the bundle"
          onClose={() => setRemoving(null)}
          onConfirm={() => remove(removing)}
        >
          <p>
            {bytes(removing.bytes)} from {new Date(removing.createdAt).toLocaleString()} are deleted for good.
          </p>
        </ConfirmByName>
      )}
    </div>
  );
}
