// What a route is: who may use it, what it takes and what it answers. Every domain declares its own in its `routes.ts`;
// docs/api/routes.md is the table of them all, printed from those lists.
//
// The key of a route is the operationId of the OpenAPI document, and the name of the handler that its domain provides.
import { closed, type Static, type TSchema, Type } from '../base/schema/schema.ts';

/**
 * Who may use a route.
 * - `anyone`: no identity is needed. What it shows must be harmless.
 * - `setup`: whoever gave the right set-up code, as long as set-up has no administrator yet.
 * - a role: that role or a higher one, by session cookie or API token.
 * - `session`: whoever has signed in, whatever the role. A token has no password and no session.
 * - `nginx`: answers questions nginx asks over the socket; nginx routes no client here.
 * - `simulation`: is there only on the simulated platform, to make things fail on demand.
 */
export type Access = 'anyone' | 'setup' | 'session' | 'viewer' | 'operator' | 'administrator' | 'nginx' | 'simulation';

/**
 * What a route answers when all went well. `stream`: the handler writes the reply itself, as one of these media types, with what
 * stands in it, or null for text.
 */
export type Answer = {
  readonly status: number;
  readonly schema: TSchema | null;
  readonly stream?: Readonly<Record<string, TSchema | null>>;
};

export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly access: Access;
  readonly summary: string;
  readonly params?: TSchema;
  readonly query?: TSchema;
  readonly body?: TSchema;
  readonly answer: Answer;
  /** How large the body may be, where that is more than of all others. */
  readonly maxBytes?: number;
  /**
   * Whoever has signed in must have given the password within the last five minutes: it destroys data, changes who gets in,
   * or reads secrets. A token needs no confirmation.
   */
  readonly confirm?: true;
  /** Allowed to who signed in with a one-time password. */
  readonly duringPasswordChange?: true;
  /** Allowed to who needs a second factor and has none. */
  readonly duringFactorAddition?: true;
  /**
   * On a GET of one thing that can be edited: the schema of what a change takes, or a function to the fields that one
   * changes. The thing then has an ETag, and the PUT and the DELETE of the same path take If-Match (http/etags.ts).
   */
  readonly editable?: TSchema | ((thing: never) => Readonly<Record<string, unknown>>);
  /**
   * On a GET that is asked again and again: its answer has an ETag over all of it, and who sends that back in
   * If-None-Match is answered 304, without a body, as long as nothing has changed.
   */
  readonly conditional?: true;
}

/** A domain's routes, by the names of their handlers. */
export type Routes = Readonly<Record<string, Route>>;

export const ok = <S extends TSchema>(schema: S) => ({ status: 200, schema }) as const;
export const created = <S extends TSchema>(schema: S) => ({ status: 201, schema }) as const;
export const accepted = <S extends TSchema>(schema: S) => ({ status: 202, schema }) as const;
export const nothing = { status: 204, schema: null } as const;
export const stream = (types: Readonly<Record<string, TSchema | null>>) =>
  ({ status: 200, schema: null, stream: types }) as const;
/** What stands in the path. */
export const byId = closed({ id: Type.String({ maxLength: 64 }) });
export const byName = closed({ name: Type.String({ maxLength: 255 }) });

type Part<R, K extends string> = R extends { readonly [P in K]: infer S }
  ? S extends TSchema
    ? Static<S>
    : never
  : undefined;
export type Params<R extends Route> = Part<R, 'params'>;
export type Query<R extends Route> = Part<R, 'query'>;
export type Body<R extends Route> = Part<R, 'body'>;
export type Reply<R extends Route> = R['answer']['schema'] extends infer S
  ? S extends TSchema
    ? Static<S>
    : undefined
  : never;
