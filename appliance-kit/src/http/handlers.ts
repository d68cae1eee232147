// What a domain provides for each of its routes: a function from the checked request to the answer.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from './gate/caller.ts';
import type { Body, Params, Query, Reply, RouteId } from './routes.ts';

export interface Call<Id extends RouteId> {
  readonly params: Params<Id>;
  readonly query: Query<Id>;
  readonly body: Body<Id>;
  readonly caller: Caller;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

export type Handler<Id extends RouteId> = (call: Call<Id>) => Reply<Id> | Promise<Reply<Id>>;
export type Handlers<Ids extends RouteId = RouteId> = { readonly [Id in Ids]: Handler<Id> };
