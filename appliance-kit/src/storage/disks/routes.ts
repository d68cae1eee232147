// What this domain answers, and who may ask.
import { ok, type Routes } from '../../http/routes.ts';
import { DiskHealth, LocateInput, SelfTestInput } from './health.schema.ts';
import { AdviceQuery, byDiskId, DiskList, LayoutAdvice } from './schema.ts';

// biome-ignore format: one route is one line, so that the list can be read as a table
export const routes = {
  listDisks: { method: 'GET', path: '/api/disks', access: 'viewer', summary: 'The disks of the machine', answer: ok(DiskList) },
  adviseLayout: { method: 'GET', path: '/api/layout-advice', access: 'viewer', summary: 'How these disks can be laid out, and how they best are', query: AdviceQuery, answer: ok(LayoutAdvice) },
  getDiskHealth: { method: 'GET', path: '/api/disks/:id/health', access: 'viewer', summary: 'How the disk says that it is (SMART)', params: byDiskId, answer: ok(DiskHealth) },
  locateDisk: { method: 'POST', path: '/api/disks/:id/locate', access: 'operator', summary: 'Switch the light of the disk’s slot', params: byDiskId, body: LocateInput, answer: ok(LocateInput) },
  testDisk: { method: 'POST', path: '/api/disks/:id/self-test', access: 'operator', summary: 'Have the disk test itself, or stop that', params: byDiskId, body: SelfTestInput, answer: ok(DiskHealth) },
} as const satisfies Routes;
