// What this domain answers, and who may ask.

import { list } from '../../base/schema/schema.ts';
import { nothing, ok, type Routes } from '../../http/routes.ts';
import { Stacks, Statistic, StatisticDataset } from '../../peers/statistics.ts';
import { Marks, MarksQuery, MeasuredDataset, OneStatisticDataset, StacksQuery } from './schema.ts';

// biome-ignore format: one route is one line, so that the list can be read as a table
export const routes = {
  // A statistic's name holds brackets and whatever people and programs put into them: percent-encoded it is one segment.
  // Viewers may watch what costs nothing or is recorded anyway (analytics.ts); what costs something is an operator's.
  listStatistics: { method: 'GET', path: '/api/statistics', access: 'viewer', summary: 'The catalogue: every statistic of this machine, what it says and what it costs', answer: ok(list(Statistic)) },
  listStatisticDatasets: { method: 'GET', path: '/api/statistic-datasets', access: 'viewer', summary: 'What is being measured or recorded', answer: ok(list(MeasuredDataset)) },
  getStatisticDataset: { method: 'GET', path: '/api/statistic-datasets/:name', access: 'viewer', summary: 'One of them', params: OneStatisticDataset, answer: ok(StatisticDataset) },
  watchStatistic: { method: 'POST', path: '/api/statistic-datasets/:name/watch', access: 'viewer', summary: 'Have it measured for 30 s more; what costs something, only operators may begin', params: OneStatisticDataset, answer: ok(StatisticDataset) },
  recordStatistic: { method: 'POST', path: '/api/statistic-datasets/:name/record', access: 'operator', summary: 'Have it measured also while no page shows it', params: OneStatisticDataset, answer: ok(StatisticDataset) },
  stopRecordingStatistic: { method: 'POST', path: '/api/statistic-datasets/:name/stop-recording', access: 'operator', summary: 'Measure it only while a page shows it', params: OneStatisticDataset, answer: ok(StatisticDataset) },
  suspendStatistic: { method: 'POST', path: '/api/statistic-datasets/:name/suspend', access: 'operator', summary: 'Stop measuring it for now', params: OneStatisticDataset, answer: ok(StatisticDataset) },
  resumeStatistic: { method: 'POST', path: '/api/statistic-datasets/:name/resume', access: 'operator', summary: 'Go on measuring it', params: OneStatisticDataset, answer: ok(StatisticDataset) },
  destroyStatistic: { method: 'DELETE', path: '/api/statistic-datasets/:name', access: 'operator', summary: 'Stop measuring it and forget it; its series stay until their retention ends', params: OneStatisticDataset, answer: nothing },
  getStacks: { method: 'GET', path: '/api/statistic-datasets/:name/stacks', access: 'viewer', summary: 'Stacks of a profile, for a flame graph', params: OneStatisticDataset, query: StacksQuery, answer: ok(Stacks) },
  listMarks: { method: 'GET', path: '/api/marks', access: 'viewer', summary: 'Alerts, snapshots, scrubs and changes, for the time axis', query: MarksQuery, answer: ok(Marks) },
} as const satisfies Routes;
