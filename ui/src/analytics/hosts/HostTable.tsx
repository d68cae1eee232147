// The table of hosts: of thousands only the rows that can be seen are there.
import { memo, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { Link } from 'react-router';
import { Ago } from '../../words/Ago.tsx';
import { ConditionIcon } from '../../words/ConditionIcon.tsx';
import { HostStateLabel } from './HostStateLabel.tsx';
import type { Host, HostsView, HostValue, Values } from './view.ts';
import { fillWords, hostPath, valueWords } from './words.ts';

/** As the style sheet has it. */
const ROW = 40;
const BEYOND = 10;

function Labels({ labels }: { labels: Readonly<Record<string, string>> }) {
  const words = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
  return <span title={words.join(', ')}>{words.join(', ')}</span>;
}

interface RowProps extends Pick<HostsView, 'metric' | 'as'> {
  readonly at: number;
  readonly host: Host;
  readonly value: HostValue | undefined;
  readonly chosen: boolean;
  readonly choose: (names: readonly string[], on: boolean) => void;
}

/** Drawn again only when something of it has changed. */
const Row = memo(function Row({ at, host, value, metric, as, chosen, choose }: RowProps) {
  return (
    <tr className="cistern-host-row" aria-rowindex={at + 2}>
      <td className="cistern-host-box">
        <input
          type="checkbox"
          aria-label={`Choose ${host.name}`}
          checked={chosen}
          onChange={() => choose([host.name], !chosen)}
        />
      </td>
      <td>
        <Link to={hostPath(host.name)}>{host.name}</Link>
      </td>
      <td>
        <HostStateLabel host={host} />
        {host.state !== 'reporting' && (
          <small className="cistern-quiet">
            {' '}
            <Ago time={host.lastAt} />
          </small>
        )}
      </td>
      <td className="cistern-number">
        {value === undefined ? (
          <span className="cistern-quiet">–</span>
        ) : (
          <span title={metric === '' ? value.measure : undefined}>{valueWords(value.value, { metric, as })}</span>
        )}
      </td>
      <td className="cistern-host-wide">
        {value?.unlike && <span title={value.unlike.words}>{value.unlike.words}</span>}
      </td>
      <td className="cistern-number cistern-host-wide">
        {host.worst !== null && (
          <>
            <ConditionIcon state={host.worst} /> {host.alerts}
          </>
        )}
      </td>
      <td className="cistern-host-wide">
        <Labels labels={host.labels} />
      </td>
      <td className="cistern-number cistern-host-wide">{host.series}</td>
    </tr>
  );
});

const COLUMNS: readonly [sort: HostsView['sort'] | null, title: string, className: string][] = [
  ['name', 'Host', ''],
  ['state', 'State', ''],
  ['value', '', 'cistern-number'],
  [null, 'Unlike its peers', 'cistern-host-wide'],
  ['alerts', 'Alerts', 'cistern-number cistern-host-wide'],
  [null, 'Labels', 'cistern-host-wide'],
  ['series', 'Series', 'cistern-number cistern-host-wide'],
];

export function HostTable(props: {
  hosts: readonly Host[];
  values: Values;
  view: HostsView;
  chosen: ReadonlySet<string>;
  choose: (names: readonly string[], on: boolean) => void;
  sort: (by: HostsView['sort']) => void;
}) {
  const { hosts, values, view, chosen, choose, sort } = props;
  const box = useRef<HTMLDivElement>(null);
  const [seen, setSeen] = useState<readonly [number, number]>([0, 40]);
  const began = performance.now();

  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const look = () => {
      const from = Math.max(0, Math.floor(element.scrollTop / ROW) - BEYOND);
      const to = Math.ceil((element.scrollTop + element.clientHeight) / ROW) + BEYOND;
      setSeen((before) => (before[0] === from && before[1] === to ? before : [from, to]));
    };
    look();
    element.addEventListener('scroll', look, { passive: true });
    const observer = new ResizeObserver(look);
    observer.observe(element);
    return () => {
      element.removeEventListener('scroll', look);
      observer.disconnect();
    };
  }, []);
  useLayoutEffect(() => {
    performance.measure('hosts-table', { start: began, end: performance.now() });
  });

  const [from, to] = [Math.min(seen[0], hosts.length), Math.min(seen[1], hosts.length)];
  const all = hosts.length > 0 && hosts.every(({ name }) => chosen.has(name));
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keys
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for fields
    <div ref={box} className="cistern-hosts" role="group" aria-label="Hosts, which scroll" tabIndex={0}>
      <table aria-label="Hosts" aria-rowcount={hosts.length + 1}>
        <thead>
          <tr aria-rowindex={1}>
            <th className="cistern-host-box" scope="col">
              <input
                type="checkbox"
                aria-label={`Choose all ${hosts.length} hosts that are shown`}
                checked={all}
                onChange={() =>
                  choose(
                    hosts.map(({ name }) => name),
                    !all,
                  )
                }
              />
            </th>
            {COLUMNS.map(([by, title, className]) => (
              <th
                key={title}
                className={className}
                scope="col"
                aria-sort={
                  by === null
                    ? undefined
                    : view.sort === by
                      ? by === 'name' || by === 'state'
                        ? 'ascending'
                        : 'descending'
                      : 'none'
                }
              >
                {by === null ? (
                  title
                ) : (
                  <button type="button" className="cistern-sort" onClick={() => sort(by)}>
                    {title || fillWords(view)}
                    {view.sort === by && <span aria-hidden> {by === 'name' || by === 'state' ? '↑' : '↓'}</span>}
                  </button>
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {from > 0 && <tr aria-hidden style={{ height: from * ROW }} />}
          {hosts.slice(from, to).map((host, at) => (
            <Row
              key={host.name}
              at={from + at}
              host={host}
              value={values.get(host.name)}
              metric={view.metric}
              as={view.as}
              chosen={chosen.has(host.name)}
              choose={choose}
            />
          ))}
          {to < hosts.length && <tr aria-hidden style={{ height: (hosts.length - to) * ROW }} />}
        </tbody>
      </table>
    </div>
  );
}
