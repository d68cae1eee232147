// One objective: its sentence with fields, and beside it how the past reads by them.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useDeferredValue, useState } from 'react';
import { useNavigate, useParams, useSearchParams } from 'react-router';
import { answerOf, client } from '../../api/client.ts';
import { keepTyped, useEdited } from '../../api/edits.ts';
import { measureQuery } from '../../api/measure.ts';
import { asProblem, fieldMessage } from '../../api/problem.ts';
import { objectivesQuery } from '../../api/queries.ts';
import { useMayNot } from '../../api/session.ts';
import { TextField } from '../../forms/Field.tsx';
import { FormShell } from '../../forms/FormShell.tsx';
import { SelectField } from '../../forms/SelectField.tsx';
import { EditPage } from '../../shells/EditPage.tsx';
import { plural } from '../../words/format.ts';
import { limitExample } from '../../words/units.ts';
import { ObjectiveReport } from './ObjectiveReport.tsx';
import {
  draftOf,
  inputOf,
  isMissing,
  limitText,
  type Missing,
  type Objective,
  type ObjectiveInput,
} from './objective.ts';

const LIST = '/analytics/objectives';
const PERIODS = [1, 7, 28, 30, 90, 365];
const FIELDS = ['/name', '/selector', '/limit', '/targetPercent', '/population'];

/** What the histograms of a selector are measured in; undefined: it is not known yet. */
function useUnit(selector: string, objective: Objective | undefined): string | undefined {
  const { data, isFetching } = useQuery(measureQuery(selector));
  if (data === undefined && isFetching) return undefined;
  // Where the store knows nothing, as of a metric that does not come any more, it is what it was.
  const known = data?.unit ?? 'count';
  return known !== 'count' || objective?.selector !== selector ? known : objective.unit || known;
}

function Editor({ objective }: { objective: Objective | undefined }) {
  const [query] = useSearchParams();
  const [draft, setDraft] = useState(() => draftOf(objective, query));
  const [tried, setTried] = useState(false);
  const queries = useQueryClient();
  const navigate = useNavigate();
  const mayNot = useMayNot('operator');
  const set = (change: Partial<typeof draft>) => setDraft((now) => ({ ...now, ...change }));
  const selector = useDeferredValue(draft.selector.trim());
  const unit = useUnit(selector, objective);
  const input = inputOf(draft, unit ?? 'count');
  // What is measured is worth looking at before it has a name.
  const looked = inputOf({ ...draft, name: draft.name.trim() || 'objective' }, unit ?? 'count');
  const path = { id: objective?.id ?? '' };
  const edit = useEdited({
    now: objective,
    read: () => answerOf(client.GET('/api/objectives/{id}', { params: { path } })),
    onLoad: (current, before) => setDraft((mine) => keepTyped(mine, draftOf(before, query), draftOf(current, query))),
  });
  const save = useMutation({
    mutationFn: (body: ObjectiveInput) =>
      objective === undefined
        ? answerOf(client.POST('/api/objectives', { body }))
        : edit.guard(answerOf(client.PUT('/api/objectives/{id}', { params: { path, header: edit.header }, body }))),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['objectives'] });
      void navigate(LIST);
    },
  });
  const problem = save.error ? asProblem(save.error) : null;
  const wrong = (field: Missing['field']) =>
    tried && isMissing(input) && input.field === field ? input.words : fieldMessage(problem, `/${field}`);
  const periods = PERIODS.includes(draft.periodDays) ? PERIODS : [...PERIODS, draft.periodDays].sort((a, b) => a - b);
  return (
    <div className="cistern-objective">
      <FormShell
        submit={objective === undefined ? 'Create the objective' : 'Save the objective'}
        mayNot={mayNot}
        busy={save.isPending}
        error={save.error}
        fields={FIELDS}
        onSubmit={() => {
          setTried(true);
          if (!isMissing(input) && unit !== undefined) save.mutate(input);
        }}
        cancel={LIST}
      >
        <TextField
          label="What is measured"
          value={draft.selector}
          onChange={(text) => set({ selector: text })}
          placeholder='{"checkout.time", site="north"}'
          help="A selector of histograms, as of a statsd timer. All series that match are counted together."
          error={wrong('selector')}
          autoComplete="off"
          required
        />
        <div className="cistern-pair">
          <TextField
            label="How much, in percent"
            value={draft.target}
            onChange={(target) => set({ target })}
            placeholder="99"
            error={wrong('targetPercent')}
            inputMode="decimal"
            autoComplete="off"
            required
          />
          <TextField
            label="Under the limit"
            value={draft.limit}
            onChange={(limit) => set({ limit })}
            placeholder={limitExample(unit ?? 'count')}
            help="The line in the picture can be dragged."
            error={wrong('limit')}
            autoComplete="off"
            required
          />
        </div>
        <SelectField
          label="In the last"
          value={String(draft.periodDays)}
          onChange={(days) => set({ periodDays: Number(days) })}
          options={periods.map((days) => [String(days), plural(days, 'day')])}
        />
        <TextField
          label="Told of 1,000 of"
          value={draft.population}
          onChange={(population) => set({ population })}
          placeholder="sum(customers)"
          help="PromQL with one value, as how many people there are. Left empty: of what was measured."
          error={fieldMessage(problem, '/population')}
          autoComplete="off"
        />
        <TextField
          label="Name"
          value={draft.name}
          onChange={(name) => set({ name })}
          placeholder="Checkout is quick"
          help="Its alerts are called by it."
          error={wrong('name')}
          autoComplete="off"
          required
        />
      </FormShell>
      <aside aria-label="The past by these fields">
        {unit !== undefined && (
          <ObjectiveReport
            input={isMissing(looked) ? null : looked}
            name={objective?.name}
            onLimit={(limit) => set({ limit: limitText(limit, unit) })}
          />
        )}
      </aside>
    </div>
  );
}

export default function ObjectivePage() {
  const { id } = useParams();
  return (
    <EditPage
      id={id}
      list={useQuery(objectivesQuery)}
      newTitle="New objective"
      way={[['Objectives', LIST]]}
      sentence="How much of what is measured has to be under a limit."
    >
      {(one) => <Editor key={id} objective={one} />}
    </EditPage>
  );
}
