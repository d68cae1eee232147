// What a domain provides for each of its routes: a function from the checked request to the answer.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from './gate/caller.ts';
import type { Body, Params, Query, Reply, Route, Routes } from './routes.ts';

export interface Call<R extends Route> {
  readonly params: Params<R>;
  readonly query: Query<R>;
  readonly body: Body<R>;
  readonly caller: Caller;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

export type Handler<R extends Route> = (call: Call<R>) => Reply<R> | Promise<Reply<R>>;
/** One for each route: TypeScript refuses a domain that leaves one out. */
export type Handlers<Declared extends Routes> = { readonly [Id in keyof Declared]: Handler<Declared[Id]> };
