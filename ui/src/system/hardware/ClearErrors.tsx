// Counts a part's errors from now on: after it was replaced, or to see whether there are more.
import { Button } from '@patternfly/react-core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { answerOf, client } from '../../api/client.ts';
import { useMayNot } from '../../api/session.ts';
import { Explained } from '../../forms/Explained.tsx';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { hardwareQuery, type PartErrors } from './queries.ts';

export function ClearErrors({ part: { part, title } }: { part: Pick<PartErrors, 'part' | 'title'> }) {
  const mayNot = useMayNot('operator');
  const queries = useQueryClient();
  const clear = useMutation({
    mutationFn: () => answerOf(client.POST('/api/hardware/errors/{part}/clear', { params: { path: { part } } })),
    onSettled: () => queries.invalidateQueries({ queryKey: hardwareQuery.queryKey }),
  });
  return (
    <>
      <Explained why={mayNot}>
        <Button
          variant="link"
          isInline
          isAriaDisabled={mayNot !== null}
          isLoading={clear.isPending}
          onClick={() => clear.mutate()}
          aria-label={`Clear the errors of ${title}`}
        >
          Clear
        </Button>
      </Explained>
      <ProblemAlert error={clear.error} />
    </>
  );
}
