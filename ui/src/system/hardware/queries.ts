// What the page of the hardware reads, under the topic `hardware` of the live updates.
import { queryOptions } from '@tanstack/react-query';
import { answerOf, client, type Schemas } from '../../api/client.ts';

export type Hardware = Schemas['Hardware'];
export type Sensor = Schemas['HardwareSensor'];
export type PartErrors = Schemas['HardwareErrors'];
export type Slot = Schemas['HardwareSlot'];

const SAFETY_NET = 30_000;

export const hardwareQuery = queryOptions({
  queryKey: ['hardware'],
  queryFn: ({ signal }) => answerOf(client.GET('/api/hardware', { signal })),
  refetchInterval: SAFETY_NET,
});
export const hardwareEventsQuery = queryOptions({
  queryKey: ['hardware', 'events'],
  queryFn: ({ signal }) => answerOf(client.GET('/api/hardware/events', { signal })),
  refetchInterval: SAFETY_NET,
});
