// What this domain answers, and who may ask.
import { nothing, type Routes } from '../../http/routes.ts';

// biome-ignore format: one route is one line, so that the list can be read as a table
export const routes = {
  authorize: { method: 'GET', path: '/internal/authorize', access: 'nginx', summary: "May this request go to storaged? nginx's auth_request asks", answer: nothing },
} as const satisfies Routes;
