// The page on which one thing of a list is changed, or with the id "new" a further one is made.
import type { ReactNode } from 'react';
import NoSuchPage from './NoSuchPage.tsx';
import { type Crumb, PageShell } from './PageShell.tsx';
import { type Reading, Waiting } from './Waiting.tsx';

export function EditPage<Thing extends { readonly id: string; readonly name: string }>(props: {
  id: string | undefined;
  /** The list it is in. */
  list: Reading & { readonly data: readonly Thing[] | undefined };
  /** The title of the page on which a further one is made. */
  newTitle: string;
  way: readonly Crumb[];
  sentence: ReactNode | ((existing: Thing | undefined) => ReactNode);
  children: (existing: Thing | undefined) => ReactNode;
}) {
  const { id, list, newTitle, sentence } = props;
  const existing = id === 'new' ? undefined : list.data?.find((one) => one.id === id);
  if (id !== 'new' && existing === undefined) {
    return list.data === undefined ? <Waiting on={{ error: list.error }} page /> : <NoSuchPage />;
  }
  return (
    <PageShell
      title={existing?.name ?? newTitle}
      sentence={typeof sentence === 'function' ? sentence(existing) : sentence}
      way={props.way}
      here={existing?.name ?? 'New'}
    >
      {props.children(existing)}
    </PageShell>
  );
}
