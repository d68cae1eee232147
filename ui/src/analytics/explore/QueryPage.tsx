// PromQL: an expression with its names completed and its errors where they are, as a graph, a heatmap or a table.
import { Button, FormGroup, PageSection, TextArea, ToggleGroup, ToggleGroupItem } from '@patternfly/react-core';
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import { useDeferredValue, useRef, useState } from 'react';
import { Link } from 'react-router';
import { measureQuery } from '../../api/measure.ts';
import { asProblem } from '../../api/problem.ts';
import { checkQuery, type InstantSeries, listMetrics, queryInstant } from '../../api/telemetry.ts';
import { useSettled } from '../../charts/axis.ts';
import { type Column, ListTable } from '../../shells/ListTable.tsx';
import { PageHead } from '../../shells/PageHead.tsx';
import { compact, plural } from '../../words/format.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { AnalyticsTabs } from '../AnalyticsTabs.tsx';
import { Charts, useCharts } from '../panels/Charts.tsx';
import { TimeControls, TimeWords } from '../panels/TimeControls.tsx';
import { complaintIn, functionsLike, pointing, wordAt } from './promql.ts';

const NOTHING: [] = [];
const TIME = { range: 300, end: null };

function ValuesNow({ query, end }: { query: string; end: number | null }) {
  const { data, error } = useQuery({
    queryKey: ['telemetry', 'instant', query, end ?? 'live'],
    queryFn: ({ signal }) => queryInstant(query, end ?? Math.floor(Date.now() / 1000) - 1, signal),
    refetchInterval: end === null ? 2_000 : false,
    placeholderData: keepPreviousData,
    retry: false,
  });
  const names = [...new Set((data ?? []).flatMap(({ metric }) => Object.keys(metric)))].sort((a, b) =>
    a === '__name__' ? -1 : b === '__name__' ? 1 : a < b ? -1 : 1,
  );
  const columns: Column<InstantSeries>[] = [
    ...names.map((name) => ({
      id: `label ${name}`,
      title: name === '__name__' ? 'Metric' : name,
      cell: ({ metric }: InstantSeries) => metric[name] ?? '',
      className: 'cistern-name',
    })),
    {
      title: 'Value',
      cell: ({ value, histogram }) =>
        value !== undefined
          ? value[1]
          : histogram !== undefined
            ? `histogram of ${compact(Number(histogram[1].count))}`
            : '',
    },
  ];
  return (
    <>
      <ProblemAlert error={error} />
      {data && (
        <>
          <p className="cistern-quiet">{plural(data.length, 'series', 'series')}</p>
          <ListTable
            label="Values"
            columns={columns}
            rows={data.slice(0, 500)}
            keyOf={({ metric }) => JSON.stringify(metric)}
          />
          {data.length > 500 && <p className="cistern-quiet">The first 500.</p>}
        </>
      )}
    </>
  );
}

type Shape = 'graph' | 'heatmap' | 'table';

export default function QueryPage() {
  const queries = useQueryClient();
  const state = useCharts(NOTHING, TIME);
  const { axis, setCharts } = state;
  const settled = useSettled(axis);
  const [chart] = state.charts;
  const [text, setText] = useState(chart?.query ?? '');
  const [shape, setShape] = useState<Shape>(chart?.display === 'heatmap' ? 'heatmap' : 'graph');
  const [caret, setCaret] = useState(0);
  const field = useRef<HTMLTextAreaElement>(null);
  const written = useDeferredValue(text.trim());
  const check = useQuery({
    queryKey: ['telemetry', 'check', written],
    queryFn: ({ signal }) => checkQuery(written, signal),
    enabled: written !== '',
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const { word, from } = wordAt(text, caret);
  const found = useQuery({
    queryKey: ['metrics', 'completion', word],
    queryFn: ({ signal }) => listMetrics({ match: word, limit: 500 }, signal),
    enabled: word.length >= 2,
    placeholderData: keepPreviousData,
    staleTime: 10_000,
  });
  const completions =
    word.length < 2
      ? []
      : [...functionsLike(word), ...(found.data?.metrics ?? []).map(({ name }) => name)]
          .filter((name) => name !== word && name.toLowerCase().includes(word.toLowerCase()))
          .slice(0, 8);
  const problem = check.error === null || written === '' || written !== text.trim() ? null : asProblem(check.error);
  const complaint = problem === null ? undefined : complaintIn(problem.detail);

  const show = async (next: Shape) => {
    setShape(next);
    const query = text.trim();
    if (query === '' || problem !== null) return;
    // Without a unit it is drawn all the same.
    const measure = await queries.fetchQuery(measureQuery(query)).catch(() => undefined);
    const unit = (measure?.unit ?? 'count') + (measure?.perSecond ? '/s' : '');
    const { limit, highlight, compare } = chart ?? {};
    const kept =
      chart?.query === query
        ? { ...(limit !== undefined && { limit }), ...(highlight && { highlight }), ...(compare && { compare }) }
        : {};
    setCharts([{ id: 'c1', query, unit, ...(next === 'heatmap' && { display: 'heatmap' as const }), ...kept }], true);
  };
  const complete = (name: string) => {
    const plain = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/.test(name) ? name : `{${JSON.stringify(name)}}`;
    setText(text.slice(0, from) + plain + text.slice(caret));
    field.current?.focus();
  };
  return (
    <>
      <PageHead title="Analytics" sentence={<TimeWords axis={axis} />} actions={<TimeControls axis={axis} />} />
      <AnalyticsTabs active="explore" />
      <PageSection>
        <form
          className="cistern-editor"
          onSubmit={(event) => {
            event.preventDefault();
            show(shape);
          }}
        >
          <FormGroup label="PromQL" fieldId="promql">
            <TextArea
              id="promql"
              ref={field}
              value={text}
              rows={Math.min(8, Math.max(2, text.split('\n').length))}
              spellCheck={false}
              autoCapitalize="off"
              validated={problem !== null ? 'error' : 'default'}
              aria-describedby="promql-says"
              placeholder="sum by (input) (rate(cistern_storaged_samples_total[5s]))"
              onChange={(event, value) => {
                setText(value);
                setCaret(event.target.selectionStart);
              }}
              onSelect={(event) => setCaret(event.currentTarget.selectionStart)}
              onKeyDown={(event) => {
                if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
                  event.preventDefault();
                  show(shape);
                } else if (event.key === 'Tab' && !event.shiftKey && completions[0] !== undefined) {
                  event.preventDefault();
                  complete(completions[0]);
                }
              }}
            />
          </FormGroup>
          <div id="promql-says" aria-live="polite">
            {problem !== null &&
              (complaint !== undefined ? (
                <>
                  <pre className="cistern-parseerror">{pointing(text.trim(), complaint)}</pre>
                  <p className="cistern-bad">
                    {text.includes('\n') ? `Line ${complaint.line}, column` : 'Column'} {complaint.column}:{' '}
                    {complaint.words}
                  </p>
                </>
              ) : (
                <p className="cistern-bad">{problem.detail}</p>
              ))}
          </div>
          <div className="cistern-completions">
            {completions.map((name) => (
              <Button key={name} size="sm" variant="tertiary" onClick={() => complete(name)}>
                {name}
              </Button>
            ))}
          </div>
          <div className="cistern-sheetactions">
            <Button type="submit" isAriaDisabled={text.trim() === '' || problem !== null}>
              Run
            </Button>
            <ToggleGroup aria-label="Show as">
              {(['graph', 'heatmap', 'table'] as const).map((one) => (
                <ToggleGroupItem
                  key={one}
                  text={{ graph: 'Graph', heatmap: 'Heatmap', table: 'Table' }[one]}
                  isSelected={shape === one}
                  onChange={() => show(one)}
                />
              ))}
            </ToggleGroup>
            <span className="cistern-quiet">Ctrl and Enter runs it, Tab takes the first suggestion.</span>
            <Link to="/analytics/explore">Find a metric</Link>
          </div>
        </form>
      </PageSection>
      <PageSection>
        {chart?.query !== undefined &&
          (shape === 'table' ? (
            <ValuesNow query={chart.query} end={settled.end} />
          ) : (
            <Charts state={state} several={false} empty={null} />
          ))}
      </PageSection>
    </>
  );
}
