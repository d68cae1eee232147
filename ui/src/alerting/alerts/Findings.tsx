// What was found around an alert: what changed, what was done, what the log said, and which other alerts there were.
import { Link } from 'react-router';
import type { Schemas } from '../../api/client.ts';
import { useMeasure } from '../../api/measure.ts';
import type { TimeAxis } from '../../charts/axis.ts';
import { ChangedChart } from '../../charts/FixedCharts.tsx';
import { seriesInFull } from '../../charts/seriesName.ts';
import { Ago } from '../../words/Ago.tsx';
import { ConditionIcon } from '../../words/ConditionIcon.tsx';
import { plural, quantity } from '../../words/format.ts';
import { conditionOf } from './words.ts';

type Found = Schemas['AlertFindings'];
type Changed = NonNullable<Found['series']>;

const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });
const at = (time: string) => clock.format(Date.parse(time));
const measures = { value: '', rate: 'a second', median: 'in the median' } as const;

function ChangedItem({ series, axis }: { series: Changed['items'][number]; axis: TimeAxis }) {
  const { unit, perSecond } = useMeasure(series.query);
  const show = (value: number) => quantity(value, unit, perSecond);
  const shares = series.shares.map((label) => `${label} ${series.labels[label]}`).join(', ');
  return (
    <li>
      <div>
        <strong className="cistern-wrap">{seriesInFull(series.labels)}</strong> went from {show(series.before)} to{' '}
        {show(series.after)} {measures[series.measure]}
        <span className="cistern-quiet">
          {shares && ` · also of ${shares}`}
          {series.alike > 0 && ` · so did ${plural(series.alike, 'more series', 'more series')} of this metric`}
        </span>
      </div>
      <ChangedChart series={series} axis={axis} />
    </li>
  );
}

function ChangedPart({ series, axis }: { series: Changed; axis: TimeAxis }) {
  const some = ({ count, names }: Changed['began'], what: string) =>
    count > 0 && (
      <p className="cistern-wrap">
        {plural(count, 'series', 'series')} {what}: {names.join(', ')}
        {count > names.length && ' and others'}.
      </p>
    );
  return (
    <>
      {series.items.length > 0 ? (
        <ol className="cistern-changed" aria-label="Series that changed most">
          {series.items.map((one) => (
            <ChangedItem key={seriesInFull(one.labels)} series={one} axis={axis} />
          ))}
        </ol>
      ) : (
        <p>{series.compared === 0 ? 'There was nothing to compare it with.' : 'Nothing else left its usual range.'}</p>
      )}
      {some(series.began, 'began in that time')}
      {some(series.ended, 'ended in that time')}
      <p className="cistern-quiet">
        {series.compared} of {plural(series.of, 'series', 'series')} were compared: {at(series.from)} to {at(series.to)}{' '}
        with the time from {at(series.baselineFrom)} on. {series.note}
      </p>
    </>
  );
}

function MarksPart({ marks }: { marks: NonNullable<Found['marks']> }) {
  if (marks.items.length === 0) return <p>{marks.note ?? 'Nothing was changed in the half hour before.'}</p>;
  return (
    <>
      <ul className="cistern-timeline" aria-label="Marks">
        {[...marks.items].reverse().map((mark) => (
          <li key={`${mark.time}${mark.kind}${mark.title}`}>
            {at(mark.time)} <Link to={mark.page}>{mark.title}</Link>{' '}
            <span className="cistern-quiet">{mark.detail}</span>
          </li>
        ))}
      </ul>
      {marks.leftOut > 0 && <p className="cistern-quiet">And {marks.leftOut} more.</p>}
    </>
  );
}

function LogPart({ log }: { log: NonNullable<Found['log']> }) {
  if (log.items.length === 0) return <p>{log.note ?? 'The log says nothing of that time.'}</p>;
  return (
    <>
      <ul className="cistern-foundlog" aria-label="Lines of the log">
        {log.items.map((line, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: lines may be the same, and their order stays
          <li key={index} className={line.level === 'error' || line.level === 'warning' ? 'cistern-bad' : ''}>
            <span className="cistern-quiet">
              {at(line.time)} {line.service}
            </span>{' '}
            {line.level !== 'info' && <strong>{line.level}</strong>} {line.text}
          </li>
        ))}
      </ul>
      <p className="cistern-quiet">
        {log.leftOut > 0 && `${plural(log.leftOut, 'more line')} of that time. `}
        {log.note}
      </p>
    </>
  );
}

function NeighboursPart({ groups }: { groups: Found['neighbours'] }) {
  if (groups.length === 0) return <p>No other alert was raised within 15 minutes of it.</p>;
  return (
    <ul aria-label="Other alerts">
      {groups.map((group) => {
        const [first] = group.alerts;
        const what = group.ruleName === null ? group.class : `the rule “${group.ruleName}”`;
        return (
          <li key={`${group.class}${group.ruleId}`}>
            <ConditionIcon state={conditionOf(group.severity)} />{' '}
            {group.count > group.alerts.length ? `${plural(group.count, 'alert')} of ${what}: ` : ''}
            {group.alerts.map((alert, index) => (
              <span key={alert.id}>
                {index > 0 && ', '}
                <Link to={`/alerts/${alert.id}`}>{alert.title}</Link>
              </span>
            ))}{' '}
            {first && (
              <span className="cistern-quiet">
                <Ago time={first.raisedAt} />
              </span>
            )}
          </li>
        );
      })}
    </ul>
  );
}

/** Why there is nothing of what is kept, or nothing yet. */
function missing({ state }: Found): string {
  return state === 'waiting'
    ? 'It is being looked for; it takes a few seconds.'
    : 'It was not looked for when this alert was raised.';
}

export function Findings({ found, axis }: { found: Found; axis: TimeAxis }) {
  const { series, marks, log, neighbours, insteadOf } = found;
  return (
    <div className="cistern-findings">
      <h2>What changed before it</h2>
      {insteadOf && (
        <p>
          Many alerts were raised at once. What follows was found for the first of them,{' '}
          <Link to={`/alerts/${insteadOf.id}`}>{insteadOf.title}</Link>.
        </p>
      )}
      {series === null ? <p>{missing(found)}</p> : <ChangedPart series={series} axis={axis} />}
      <h2>What was done in the half hour before</h2>
      {marks === null ? <p>{missing(found)}</p> : <MarksPart marks={marks} />}
      <h2>What the log says</h2>
      {log === null ? <p>{missing(found)}</p> : <LogPart log={log} />}
      <h2>Other alerts</h2>
      <NeighboursPart groups={neighbours} />
    </div>
  );
}
