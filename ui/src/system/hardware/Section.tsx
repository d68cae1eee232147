// A part of the page of the hardware; and a list in it that is folded as long as nothing in it matters.
import { ExpandableSection, Title } from '@patternfly/react-core';
import { type ReactNode, useState } from 'react';

export function Section({ id, title, children }: { id: string; title: string; children: ReactNode }) {
  return (
    <section aria-labelledby={id}>
      <Title headingLevel="h2" id={id}>
        {title}
      </Title>
      {children}
    </section>
  );
}

/** Lists of more rows than this are folded at first. */
export const SHORT = 12;

/** A list: as it is when it is short, else folded behind a sentence; `open` when something in it matters. */
export function Rows(props: { id: string; count: number; summary: string; open?: boolean; children: ReactNode }) {
  const { id, count, summary, open = false, children } = props;
  if (count <= SHORT) return children;
  return (
    <Fold id={id} summary={summary} open={open}>
      {children}
    </Fold>
  );
}

/** `open`: until the user decides otherwise. */
export function Fold(props: { id: string; summary: ReactNode; open: boolean; heading?: 'h3'; children: ReactNode }) {
  const [chosen, setChosen] = useState<boolean | null>(null);
  const expanded = chosen ?? props.open;
  return (
    <ExpandableSection
      toggleContent={props.summary}
      toggleId={`${props.id}-toggle`}
      contentId={`${props.id}-content`}
      isExpanded={expanded}
      onToggle={(_event, next) => setChosen(next)}
      className="cistern-fold"
      {...(props.heading && { toggleWrapper: props.heading })}
    >
      {expanded && props.children}
    </ExpandableSection>
  );
}
