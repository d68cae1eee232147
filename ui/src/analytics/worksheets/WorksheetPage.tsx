// A worksheet: its charts, as they are saved or as one has changed them since; what can be done with all of it.
import {
  Button,
  Divider,
  Dropdown,
  DropdownItem,
  DropdownList,
  Label,
  MenuToggle,
  Modal,
  ModalBody,
  ModalHeader,
  Nav,
  NavItem,
  NavList,
  PageSection,
} from '@patternfly/react-core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type ChangeEvent, useMemo, useRef, useState } from 'react';
import { Link, Navigate, useNavigate, useParams, useSearchParams } from 'react-router';
import { answerOf, client } from '../../api/client.ts';
import { ifMatch, useEdited } from '../../api/edits.ts';
import { useMayNot } from '../../api/session.ts';
import { download, fileName } from '../../charts/download.ts';
import { ConfirmByName } from '../../forms/ConfirmByName.tsx';
import { PageHead } from '../../shells/PageHead.tsx';
import { PageLoading } from '../../shells/Waiting.tsx';
import { plural } from '../../words/format.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { AnalyticsTabs } from '../AnalyticsTabs.tsx';
import { Charts, NoCharts, useCharts } from '../panels/Charts.tsx';
import { TimeControls, TimeWords } from '../panels/TimeControls.tsx';
import { StatisticList } from '../statistics/StatisticList.tsx';
import { inputOf } from './AddToWorksheet.tsx';
import { worksheetsQuery } from './queries.ts';
import { newChartId, type Worksheet, type WorksheetInput } from './sheet.ts';
import { VariableBar, VariablesContext } from './VariableBar.tsx';
import { VariablesForm } from './VariablesForm.tsx';
import { NoteForm, WorksheetForm } from './WorksheetForm.tsx';

/** Where Analytics opens. */
const FIRST = 'machine';

function WorksheetTabs({ worksheets, active }: { worksheets: readonly Worksheet[]; active: string }) {
  return (
    <PageSection type="subnav" className="cistern-tabs cistern-sheettabs">
      <Nav variant="horizontal" aria-label="Worksheets">
        <NavList>
          {worksheets.map(({ id, name, ready, shared }) => (
            <NavItem key={id} isActive={id === active} preventDefault={false}>
              <Link
                to={`/analytics/worksheets/${id}`}
                title={ready ? 'Came with the appliance' : shared ? 'Shared' : 'Private'}
              >
                {name}
              </Link>
            </NavItem>
          ))}
        </NavList>
      </Nav>
    </PageSection>
  );
}

/** What only a new page needs, and every page offers. */
function useWorksheetActions() {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const arrived = ({ id }: Worksheet) => {
    void queries.invalidateQueries({ queryKey: ['worksheets'] });
    void navigate(`/analytics/worksheets/${id}`);
  };
  const create = useMutation({
    mutationFn: (body: WorksheetInput) => answerOf(client.POST('/api/worksheets', { body })),
    onSuccess: arrived,
  });
  const take = useMutation({
    mutationFn: async (file: File) => {
      let body: never;
      try {
        body = JSON.parse(await file.text()) as never;
      } catch (error) {
        throw new Error(`${file.name} is not a worksheet: ${(error as Error).message}`, { cause: error });
      }
      return answerOf(client.POST('/api/worksheets/import', { body }));
    },
    onSuccess: arrived,
  });
  return { create, take };
}

function Sheet({ worksheet, all }: { worksheet: Worksheet; all: readonly Worksheet[] }) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const time = useMemo(
    () => ({ range: worksheet.rangeSeconds, end: worksheet.end }),
    [worksheet.rangeSeconds, worksheet.end],
  );
  const state = useCharts(worksheet.charts, time);
  const { axis, charts, differs, setCharts } = state;
  const given = useMemo(() => {
    const variables = worksheet.variables ?? [];
    const saved = Object.fromEntries(variables.map(({ name, chosen = [] }) => [name, chosen]));
    return { variables, chosen: { ...saved, ...state.chosen } };
  }, [worksheet.variables, state.chosen]);
  const { create, take } = useWorksheetActions();
  const [open, setOpen] = useState(false);
  const [dialog, setDialog] = useState<'add' | 'new' | 'copy' | 'edit' | 'note' | 'variables' | 'delete' | null>(null);
  const file = useRef<HTMLInputElement>(null);
  const mayNotSwitch = useMayNot('operator');
  const close = () => setDialog(null);
  const written = (next: Worksheet) => {
    queries.setQueryData<Worksheet[]>(worksheetsQuery.queryKey, (known) =>
      known?.map((one) => (one.id === next.id ? next : one)),
    );
    void queries.invalidateQueries({ queryKey: ['worksheets'] });
  };
  const path = { id: worksheet.id };
  const edit = useEdited({
    now: worksheet,
    read: () => answerOf(client.GET('/api/worksheets/{id}', { params: { path } })),
    onLoad: (current) => written(current),
    editing: differs || dialog !== null,
  });
  const save = useMutation({
    mutationFn: (input: WorksheetInput) =>
      edit.guard(answerOf(client.PUT('/api/worksheets/{id}', { params: { path, header: edit.header }, body: input }))),
    onSuccess: written,
  });
  const asShown = (): WorksheetInput => ({
    ...inputOf(worksheet),
    charts: [...charts],
    rangeSeconds: axis.settled.range,
    end: axis.settled.end,
  });
  const saveCharts = async () => {
    await save.mutateAsync(asShown());
    setCharts(null, false);
  };
  const exported = useMutation({
    mutationFn: async () => {
      const params = { params: { path: { id: worksheet.id } } };
      const found = await answerOf(client.GET('/api/worksheets/{id}/file', params));
      const content = new Blob([`${JSON.stringify(found, null, 2)}\n`], { type: 'application/json' });
      download(content, fileName(worksheet.name, 'json'));
    },
  });
  const turn = useMutation({
    mutationFn: async (action: 'suspend' | 'resume') => {
      const params = { params: { path: { id: worksheet.id } } };
      const { items } = await answerOf(
        action === 'suspend'
          ? client.POST('/api/worksheets/{id}/suspend', params)
          : client.POST('/api/worksheets/{id}/resume', params),
      );
      const failed = items.filter(({ problem }) => problem !== null);
      if (failed.length > 0) {
        const words = failed.map(({ statistic, problem }) => `${statistic}: ${problem?.detail}`).join(' ');
        throw new Error(`${failed.length} of ${items.length} could not be changed. ${words}`);
      }
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ['analytics'] }),
  });
  const problem = save.error ?? create.error ?? take.error ?? exported.error ?? turn.error;
  const ofOthers = !worksheet.mayChange && !worksheet.ready;
  return (
    <>
      <PageHead
        title="Analytics"
        sentence={<TimeWords axis={axis} />}
        actions={
          <div className="cistern-sheetactions">
            <TimeControls axis={axis} />
            <Button variant="secondary" onClick={() => setDialog('add')}>
              Add statistic
            </Button>
            <Dropdown
              isOpen={open}
              onOpenChange={setOpen}
              onSelect={() => setOpen(false)}
              popperProps={{ position: 'right' }}
              toggle={(ref) => (
                <MenuToggle ref={ref} isExpanded={open} onClick={() => setOpen(!open)}>
                  Worksheet
                </MenuToggle>
              )}
            >
              <DropdownList>
                {worksheet.mayChange && (
                  <DropdownItem onClick={() => setDialog('edit')}>Name, description, sharing…</DropdownItem>
                )}
                {worksheet.mayChange && <DropdownItem onClick={() => setDialog('variables')}>Variables…</DropdownItem>}
                {worksheet.mayChange && <DropdownItem onClick={() => setDialog('note')}>Add a note…</DropdownItem>}
                <DropdownItem onClick={() => setDialog('copy')}>Copy…</DropdownItem>
                <DropdownItem onClick={() => exported.mutate()}>Export as JSON</DropdownItem>
                <DropdownItem
                  isAriaDisabled={mayNotSwitch !== null}
                  tooltipProps={mayNotSwitch === null ? undefined : { content: mayNotSwitch }}
                  onClick={() => mayNotSwitch === null && turn.mutate('suspend')}
                >
                  Suspend all its statistics
                </DropdownItem>
                <DropdownItem
                  isAriaDisabled={mayNotSwitch !== null}
                  tooltipProps={mayNotSwitch === null ? undefined : { content: mayNotSwitch }}
                  onClick={() => mayNotSwitch === null && turn.mutate('resume')}
                >
                  Resume all its statistics
                </DropdownItem>
                {worksheet.mayChange && <DropdownItem onClick={() => setDialog('delete')}>Delete…</DropdownItem>}
                <Divider component="li" />
                <DropdownItem onClick={() => setDialog('new')}>New worksheet…</DropdownItem>
                <DropdownItem onClick={() => file.current?.click()}>Import from JSON…</DropdownItem>
              </DropdownList>
            </Dropdown>
            <input
              ref={file}
              type="file"
              accept=".json,application/json"
              hidden
              aria-label="Worksheet file"
              onChange={(event: ChangeEvent<HTMLInputElement>) => {
                const [chosen] = event.target.files ?? [];
                event.target.value = '';
                if (chosen !== undefined) take.mutate(chosen);
              }}
            />
          </div>
        }
      />
      <AnalyticsTabs active="worksheets" />
      <WorksheetTabs worksheets={all} active={worksheet.id} />
      <PageSection>
        <div className="cistern-sheethead">
          <p>
            {worksheet.description}{' '}
            {!worksheet.ready && (
              <Label isCompact variant="outline">
                {worksheet.shared ? `Shared by ${worksheet.owner}` : `Private to ${worksheet.owner}`}
              </Label>
            )}
          </p>
          {differs && (
            <p role="status" className="cistern-differs">
              {worksheet.ready
                ? 'Not as it came.'
                : ofOthers
                  ? `Not as ${worksheet.owner} saved it.`
                  : 'Not saved yet.'}{' '}
              {worksheet.mayChange && (
                <Button variant="link" isInline onClick={() => void saveCharts()}>
                  Save
                </Button>
              )}{' '}
              <Button variant="link" isInline onClick={() => setDialog('copy')}>
                Save as a copy
              </Button>{' '}
              <Button variant="link" isInline onClick={() => setCharts(null, true)}>
                Undo
              </Button>
            </p>
          )}
        </div>
        <ProblemAlert error={problem} />
        <VariableBar {...given} choose={state.choose} />
        <VariablesContext value={given}>
          <Charts
            state={state}
            annotations={worksheet.annotations}
            several
            empty={
              <NoCharts>
                <Button variant="link" isInline onClick={() => setDialog('add')}>
                  Add a statistic
                </Button>{' '}
                of this machine, or something that was sent to it from <Link to="/analytics/explore">Explore</Link>.
              </NoCharts>
            }
          />
        </VariablesContext>
      </PageSection>
      {dialog === 'add' && (
        <Modal isOpen variant="large" onClose={close} aria-labelledby="add-statistic">
          <ModalHeader title="Add a statistic" labelId="add-statistic" />
          <ModalBody>
            <StatisticList
              pick={(statistic) => {
                setCharts([...charts, { id: newChartId(charts), statistic }], true);
                close();
              }}
            />
          </ModalBody>
        </Modal>
      )}
      {(dialog === 'copy' || dialog === 'new') && (
        <WorksheetForm
          title={dialog === 'copy' ? `Copy “${worksheet.name}”` : 'New worksheet'}
          action={dialog === 'copy' ? 'Copy' : 'Create'}
          start={
            dialog === 'copy'
              ? { name: `${worksheet.name} (copy)`, description: worksheet.description, shared: false }
              : { name: '', description: '', shared: false }
          }
          onClose={close}
          onDone={(head) =>
            create.mutateAsync(
              dialog === 'copy'
                ? { ...asShown(), annotations: worksheet.annotations, ...head }
                : { ...head, rangeSeconds: 300, end: null, charts: [], annotations: [] },
            )
          }
        />
      )}
      {dialog === 'edit' && (
        <WorksheetForm
          title="This worksheet"
          action="Save"
          start={worksheet}
          onClose={close}
          onDone={(head) => save.mutateAsync({ ...inputOf(worksheet), ...head })}
        />
      )}
      {dialog === 'variables' && (
        <VariablesForm
          {...given}
          onClose={close}
          onDone={(variables) => save.mutateAsync({ ...inputOf(worksheet), variables })}
        />
      )}
      {dialog === 'note' && (
        <NoteForm
          time={axis.cursor ?? axis.span.end}
          onClose={close}
          onDone={(note) => save.mutateAsync({ ...inputOf(worksheet), annotations: [...worksheet.annotations, note] })}
        />
      )}
      {dialog === 'delete' && (
        <ConfirmByName
          title="Delete this worksheet?"
          name={worksheet.name}
          action="Delete"
          onClose={close}
          onConfirm={async () => {
            await answerOf(client.DELETE('/api/worksheets/{id}', { params: { path, header: ifMatch(worksheet) } }));
            void navigate('/analytics');
            void queries.invalidateQueries({ queryKey: ['worksheets'] });
          }}
        >
          <p>
            “{worksheet.name}” with {plural(worksheet.charts.length, 'chart')} and{' '}
            {plural(worksheet.annotations.length, 'note')} is lost. What was recorded stays.
          </p>
        </ConfirmByName>
      )}
    </>
  );
}

export default function WorksheetPage() {
  const { id = FIRST } = useParams();
  const [query] = useSearchParams();
  const { data, error, refetch } = useQuery(worksheetsQuery);
  // As it was when there was nothing but metrics here; such links are in alerts and in notes.
  if (query.get('metric')) return <Navigate to={`/analytics/explore?${query}`} replace />;
  const worksheet = data?.find((one) => one.id === id);
  if (worksheet !== undefined) return <Sheet key={worksheet.id} worksheet={worksheet} all={data ?? []} />;
  if (data === undefined && error === null) return <PageLoading />;
  return (
    <>
      <PageHead title="Analytics" />
      <AnalyticsTabs active="worksheets" />
      {data && <WorksheetTabs worksheets={data} active="" />}
      <PageSection>
        <ProblemAlert error={error} retry={() => void refetch()} />
        {data && (
          <p>
            There is no such worksheet, or it is another user’s and private. <Link to="/analytics">All worksheets</Link>
          </p>
        )}
      </PageSection>
    </>
  );
}
