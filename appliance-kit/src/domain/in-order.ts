// The order of domains, held by TypeScript: a domain that uses what only a later one provides does not compile.
import type { Domain, Kernel } from './domain.ts';

// biome-ignore lint/suspicious/noExplicitAny: a list of domains, each of types of its own
export type AnyDomain = Domain<any, any, any>;

type PartsOf<D> = D extends { readonly create: (parts: infer Parts) => unknown } ? Parts : never;
type ProvidedBy<D> = D extends Domain<infer _Parts, infer Provided, infer _Declared> ? Provided : object;

/** What all domains of a list provide. */
export type Provided<Domains extends readonly unknown[]> = Domains extends readonly [infer First, ...infer Rest]
  ? ProvidedBy<First> & Provided<Rest>
  : unknown;

/** Named in the error of the compiler. */
interface IsMissing<Parts> {
  readonly 'a domain before this one would have to provide': Parts;
}

type InOrder<Domains extends readonly unknown[], Have> = Domains extends readonly [infer First, ...infer Rest]
  ? readonly [
      Have extends PartsOf<First> ? First : IsMissing<Omit<PartsOf<First>, keyof Have>>,
      ...InOrder<Rest, Have & ProvidedBy<First>>,
    ]
  : readonly [];

export function inOrder<const Domains extends readonly AnyDomain[]>(
  ...domains: Domains & InOrder<Domains, Kernel>
): Domains {
  return domains;
}
