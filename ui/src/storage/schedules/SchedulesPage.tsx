// The snapshot schedules of all datasets.
import { useQuery } from '@tanstack/react-query';
import { PageShell } from '../../shells/PageShell.tsx';
import { plural } from '../../words/format.ts';
import { type SnapshotSchedule, schedulesQuery } from '../datasets/queries.ts';
import { StorageTabs } from '../StorageTabs.tsx';
import { Schedules } from './Schedules.tsx';

function sentenceOf(schedules: readonly SnapshotSchedule[]) {
  const failing = schedules.filter(({ enabled, lastRun }) => enabled && lastRun?.error);
  if (failing[0] !== undefined) {
    const more = failing.length > 1 ? ` And ${plural(failing.length - 1, 'more')}.` : '';
    return {
      state: 'warning' as const,
      sentence: `The snapshots of “${failing[0].dataset}” fail. ${failing[0].lastRun?.error}${more}`,
    };
  }
  const on = schedules.filter(({ enabled }) => enabled).length;
  if (on === 0) return { state: 'info' as const, sentence: 'No snapshots are scheduled.' };
  return {
    state: 'ok' as const,
    sentence: `${plural(on, 'schedule takes', 'schedules take')} snapshots; all are well.`,
  };
}

export default function SchedulesPage() {
  const { data } = useQuery(schedulesQuery());
  return (
    <PageShell title="Snapshot schedules" {...(data && sentenceOf(data))} tabs={<StorageTabs active="schedules" />}>
      <Schedules />
    </PageShell>
  );
}
