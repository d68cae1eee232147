// The shape of every error this API answers with (RFC 9457), as the UI and the CLI see it.
import { component, type Static, Type } from '../schema/schema.ts';

export const Problem = component(
  'Problem',
  {
    type: Type.String({ description: 'a URI that names the kind of problem; `about:blank` when the code says it all' }),
    title: Type.String(),
    status: Type.Integer(),
    code: Type.String({ description: 'stable, snake_case' }),
    detail: Type.String({ description: 'what was tried, on what, and what went wrong' }),
    action: Type.Optional(Type.String({ description: 'what the reader can do' })),
    errors: Type.Optional(
      Type.Array(Type.Object({ path: Type.String(), message: Type.String() }, { additionalProperties: false })),
    ),
  },
  'An error, as RFC 9457 has it',
);
export type Problem = Static<typeof Problem>;
