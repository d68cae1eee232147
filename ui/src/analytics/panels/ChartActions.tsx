// What can be done with a chart: its limit line, a threshold, recording, worksheets, files.
import { Divider, Dropdown, DropdownItem, DropdownList, MenuToggle } from '@patternfly/react-core';
import EllipsisVIcon from '@patternfly/react-icons/dist/esm/icons/ellipsis-v-icon';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type RefObject, useState } from 'react';
import { useNavigate } from 'react-router';
import { answerOf, client } from '../../api/client.ts';
import { useMayNot } from '../../api/session.ts';
import type { Exporter } from '../../charts/download.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import type { Dataset } from '../statistics/statistic.ts';
import { AddToWorksheet } from '../worksheets/AddToWorksheet.tsx';
import { type Chart, changed, statisticLink } from '../worksheets/sheet.ts';
import type { PanelProps } from './panel.ts';

export function Actions(props: {
  chart: Chart;
  change: PanelProps['change'];
  remove: (() => void) | null;
  move: PanelProps['move'];
  exporter: RefObject<Exporter | null>;
  dataset: Dataset | null;
  /** What a threshold would watch. */
  watch: { expression: string; type: string } | null;
  title: string;
}) {
  const { chart, change, exporter, dataset } = props;
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [open, setOpen] = useState(false);
  const [adding, setAdding] = useState(false);
  const one = { params: { path: { name: dataset?.name ?? '' } } };
  const turn = useMutation({
    mutationFn: (action: 'suspend' | 'resume') =>
      answerOf(client.POST(`/api/statistic-datasets/{name}/${action}`, one)),
    onSettled: () => queries.invalidateQueries({ queryKey: ['analytics'] }),
  });
  const record = useMutation({
    mutationFn: (recording: boolean) =>
      answerOf(client.POST(`/api/statistic-datasets/{name}/${recording ? 'record' : 'stop-recording'}`, one)),
    onSettled: () => queries.invalidateQueries({ queryKey: ['analytics'] }),
  });
  const mayNotRecord = useMayNot('operator');
  return (
    <>
      <Dropdown
        isOpen={open}
        onOpenChange={setOpen}
        onSelect={() => setOpen(false)}
        popperProps={{ position: 'right' }}
        toggle={(ref) => (
          <MenuToggle
            ref={ref}
            variant="plain"
            aria-label={`Actions of ${props.title}`}
            isExpanded={open}
            onClick={() => setOpen(!open)}
            icon={<EllipsisVIcon />}
          />
        )}
      >
        <DropdownList>
          {chart.limit === undefined ? (
            <DropdownItem onClick={() => change(changed(chart, { limit: startOf(dataset) }), false)}>
              Draw a limit line
            </DropdownItem>
          ) : (
            <DropdownItem onClick={() => change(changed(chart, { limit: undefined }), false)}>
              Remove the limit line
            </DropdownItem>
          )}
          {props.watch !== null && (
            <DropdownItem
              onClick={() =>
                void navigate(
                  `/alerts/thresholds/new?expression=${encodeURIComponent(props.watch?.expression ?? '')}&type=${props.watch?.type}`,
                )
              }
            >
              Make this a threshold
            </DropdownItem>
          )}
          {props.watch?.type === 'histogram' && (
            <DropdownItem
              onClick={() =>
                void navigate(
                  `/analytics/objectives/new?selector=${encodeURIComponent(props.watch?.expression ?? '')}&limit=${chart.limit ?? ''}`,
                )
              }
            >
              Make this an objective
            </DropdownItem>
          )}
          {dataset !== null && (
            <DropdownItem
              isAriaDisabled={mayNotRecord !== null}
              tooltipProps={mayNotRecord === null ? undefined : { content: mayNotRecord }}
              onClick={() => mayNotRecord === null && record.mutate(!dataset.recorded)}
            >
              {dataset.recorded ? 'Stop recording' : 'Record it at all times'}
            </DropdownItem>
          )}
          {dataset !== null && (
            <DropdownItem
              isAriaDisabled={mayNotRecord !== null}
              tooltipProps={mayNotRecord === null ? undefined : { content: mayNotRecord }}
              onClick={() => mayNotRecord === null && turn.mutate(dataset.state === 'suspended' ? 'resume' : 'suspend')}
            >
              {dataset.state === 'suspended' ? 'Resume measuring' : 'Suspend measuring'}
            </DropdownItem>
          )}
          <DropdownItem onClick={() => setAdding(true)}>Add to worksheet…</DropdownItem>
          {chart.statistic !== undefined && (
            <DropdownItem onClick={() => void navigate(statisticLink(chart.statistic as string))}>
              Open it alone
            </DropdownItem>
          )}
          <Divider component="li" />
          <DropdownItem onClick={() => exporter.current?.png()}>Save as picture (PNG)</DropdownItem>
          <DropdownItem onClick={() => exporter.current?.csv()}>Save as table (CSV)</DropdownItem>
          {props.remove !== null && (
            <>
              <Divider component="li" />
              {props.move?.up && <DropdownItem onClick={props.move.up}>Move up</DropdownItem>}
              {props.move?.down && <DropdownItem onClick={props.move.down}>Move down</DropdownItem>}
              <DropdownItem onClick={props.remove}>Remove from this page</DropdownItem>
            </>
          )}
        </DropdownList>
      </Dropdown>
      <ProblemAlert error={record.error ?? turn.error} />
      {adding && <AddToWorksheet chart={chart} onClose={() => setAdding(false)} />}
    </>
  );
}

function startOf(dataset: Dataset | null): number {
  switch (dataset?.unit) {
    case 'seconds':
      return 0.1;
    case 'bytes':
      return 65_536;
    case 'percent':
      return 80;
    default:
      return 100;
  }
}
