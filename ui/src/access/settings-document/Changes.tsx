// What differs between two states of the settings, side by side; and the plan of a document.
import { Alert, Title } from '@patternfly/react-core';
import { ListTable } from '../../shells/ListTable.tsx';
import type { Change, Plan } from './queries.ts';

const words: Record<Change['kind'], string> = { added: 'added', changed: 'changed', removed: 'removed' };

function Value({ value, which }: { value: unknown; which: 'before' | 'after' }) {
  if (value === undefined) return <span className="cistern-quiet">–</span>;
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 1);
  return which === 'before' ? <del className="cistern-value">{text}</del> : <ins className="cistern-value">{text}</ins>;
}

/** Within its part, as a person reads it. */
const where = ({ path }: Change) =>
  path
    .split('/')
    .slice(2)
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'))
    .join(' › ');

export function Changes(props: { label: string; changes: readonly Change[]; before?: string; after?: string }) {
  const { label, changes, before = 'Before', after = 'After' } = props;
  return (
    <ListTable
      label={label}
      rows={changes}
      keyOf={({ path }) => path}
      cardsBelow="grid-lg"
      columns={[
        { title: 'Where', cell: (change) => <span className="cistern-anywhere">{where(change) || 'all of it'}</span> },
        { title: 'What', cell: ({ kind }) => words[kind], modifier: 'nowrap' },
        { title: before, cell: (change) => <Value value={change.before} which="before" /> },
        { title: after, cell: (change) => <Value value={change.after} which="after" /> },
      ]}
    />
  );
}

function Sentences({
  title,
  items,
  variant,
}: {
  title: string;
  items: readonly string[];
  variant: 'danger' | 'warning' | 'info';
}) {
  if (items.length === 0) return null;
  return (
    <Alert isInline variant={variant} title={title} component="h3">
      <ul>
        {items.map((one) => (
          <li key={one} className="cistern-anywhere">
            {one}
          </li>
        ))}
      </ul>
    </Alert>
  );
}

const said = (items: Plan['refused']) => items.map(({ path, message }) => `${path} ${message}`);

export function PlanView({ plan }: { plan: Plan }) {
  return (
    <div className="cistern-stack">
      <Sentences variant="danger" title="This cannot be, and nothing is applied" items={said(plan.refused)} />
      <Sentences variant="warning" title="Left out" items={said(plan.leftOut)} />
      <Sentences variant="info" title="Secrets to be entered afterwards" items={plan.missingSecrets} />
      {plan.parts.length === 0 && plan.refused.length === 0 && <p>Nothing changes: the settings are as it says.</p>}
      {plan.parts.map(({ part, title, changes, warnings }) => (
        <section key={part} aria-label={title}>
          <Title headingLevel="h3" size="md">
            {title}
          </Title>
          <Sentences variant="warning" title="This cannot be undone" items={warnings} />
          <Changes label={`Changes: ${title}`} changes={changes} before="Now" after="Then" />
        </section>
      ))}
    </div>
  );
}
