// The order of domains, held by TypeScript: a domain that uses what only a later one provides does not compile.
import type { Domain, Kernel } from './domain.ts';

// biome-ignore lint/suspicious/noExplicitAny: a list of domains, each of types of its own
export type AnyDomain = Domain<any, any, any>;

type PartsOf<D> = D extends { readonly create: (parts: infer Parts) => unknown } ? Parts : never;
type ProvidedBy<D> = D extends Domain<infer _Parts, infer Provided, infer _Declared> ? Provided : object;

/** What all domains of a list provide. */
export type Provided<Domains extends readonly unknown[], Before = unknown> = Domains extends readonly [
  infer First,
  ...infer Rest,
]
  ? Provided<Rest, Before & ProvidedBy<First>>
  : Before;

/** Named in the error of the compiler. */
interface IsMissing<Parts> {
  readonly 'a domain before this one would have to provide': Parts;
}

// `Done` is carried along so that the recursion is in the tail: the compiler allows a thousand steps of it, and fifty otherwise.
type InOrder<
  Domains extends readonly unknown[],
  Have,
  Done extends readonly unknown[] = readonly [],
> = Domains extends readonly [infer First, ...infer Rest]
  ? InOrder<
      Rest,
      Have & ProvidedBy<First>,
      readonly [...Done, Have extends PartsOf<First> ? First : IsMissing<Omit<PartsOf<First>, keyof Have>>]
    >
  : Done;

export function inOrder<const Domains extends readonly AnyDomain[]>(
  ...domains: Domains & InOrder<Domains, Kernel>
): Domains {
  return domains;
}
