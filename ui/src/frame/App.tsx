// What is shown at all: the wizard while set-up is not finished, the sign-in page for nobody, else the frame with a page.
import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useRef } from 'react';
import { Navigate, Route, Routes, useLocation } from 'react-router';
import { sessionQuery, setupQuery } from '../api/queries.ts';
import { Frame } from './Frame.tsx';
import { NotAnswering } from './NotAnswering.tsx';
import { PageLoading } from './PageLoading.tsx';
import { safePath } from './places.ts';
import { SessionContext } from './session.ts';

const SignInPage = lazy(() => import('../session/SignInPage.tsx'));
const SetupPage = lazy(() => import('../setup/SetupPage.tsx'));
const StatusPage = lazy(() => import('../status/StatusPage.tsx'));
const WorksheetPage = lazy(() => import('../analytics/WorksheetPage.tsx'));
const ChartsPage = lazy(() => import('../analytics/ChartsPage.tsx'));
const StatisticsPage = lazy(() => import('../analytics/StatisticsPage.tsx'));
const RecordedPage = lazy(() => import('../analytics/DatasetsPage.tsx'));
const QueryPage = lazy(() => import('../analytics/QueryPage.tsx'));
const ExplorePage = lazy(() => import('../analytics/ExplorePage.tsx'));
const AlertsPage = lazy(() => import('../alerts/AlertsPage.tsx'));
const ThresholdPage = lazy(() => import('../alerts/ThresholdPage.tsx'));
const DestinationPage = lazy(() => import('../alerts/DestinationPage.tsx'));
const SilencePage = lazy(() => import('../alerts/SilencePage.tsx'));
const StoragePage = lazy(() => import('../storage/StoragePage.tsx'));
const NewPoolPage = lazy(() => import('../storage/NewPoolPage.tsx'));
const PoolPage = lazy(() => import('../storage/PoolPage.tsx'));
const ReplacePage = lazy(() => import('../storage/ReplacePage.tsx'));
const AddDisksPage = lazy(() => import('../storage/AddDisksPage.tsx'));
const ImportPage = lazy(() => import('../storage/ImportPage.tsx'));
const DiskPage = lazy(() => import('../storage/DiskPage.tsx'));
const ReplicationPage = lazy(() => import('../replication/ReplicationPage.tsx'));
const ReplicationFormPage = lazy(() => import('../replication/ReplicationFormPage.tsx'));
const DatasetsPage = lazy(() => import('../datasets/DatasetsPage.tsx'));
const NewDatasetPage = lazy(() => import('../datasets/NewDatasetPage.tsx'));
const DatasetPage = lazy(() => import('../datasets/DatasetPage.tsx'));
const SnapshotPage = lazy(() => import('../datasets/SnapshotPage.tsx'));
const SchedulesPage = lazy(() => import('../datasets/SchedulesPage.tsx'));
const ServicesPage = lazy(() => import('../services/ServicesPage.tsx'));
const ServicePage = lazy(() => import('../services/ServicePage.tsx'));
const LogsPage = lazy(() => import('../services/LogsPage.tsx'));
const RequestsPage = lazy(() => import('../services/RequestsPage.tsx'));
const MaintenancePage = lazy(() => import('../maintenance/MaintenancePage.tsx'));
const NoSuchPage = lazy(() => import('./NoSuchPage.tsx'));

export function App() {
  const location = useLocation();
  const setup = useQuery({ ...setupQuery, refetchInterval: (query) => (query.state.data ? false : 2_000) });
  const session = useQuery({ ...sessionQuery, refetchInterval: (query) => (query.state.data ? 60_000 : 2_000) });

  const lastError = useRef<unknown>(null);

  if (setup.data === undefined || session.data === undefined) {
    // A query that is asked again forgets its error meanwhile; the page must not flicker between the two.
    const error = setup.error ?? session.error ?? lastError.current;
    lastError.current = error;
    return error ? <NotAnswering error={error} /> : <PageLoading />;
  }
  const here = location.pathname + location.search + location.hash;
  const user = session.data.user;
  // Someone who knows the administrator's password may finish what was left; the code is not asked for again.
  const mustSignIn = user === null && (setup.data.completed || !['code', 'administrator'].includes(setup.data.step));

  if (location.pathname === '/sign-in' || mustSignIn) {
    if (!mustSignIn) return <Navigate to={safePath(new URLSearchParams(location.search).get('to'))} replace />;
    if (location.pathname !== '/sign-in') {
      return <Navigate to={here === '/' ? '/sign-in' : `/sign-in?to=${encodeURIComponent(here)}`} replace />;
    }
    return (
      <Suspense fallback={<PageLoading />}>
        <SignInPage />
      </Suspense>
    );
  }
  if (!setup.data.completed) {
    if (location.pathname !== '/setup') return <Navigate to="/setup" replace />;
    return (
      <Suspense fallback={<PageLoading />}>
        <SetupPage />
      </Suspense>
    );
  }
  if (user === null) return <Navigate to="/sign-in" replace />;
  return (
    <SessionContext value={user}>
      <Frame>
        <Suspense fallback={<PageLoading />}>
          <Routes>
            <Route path="/" element={<Navigate to="/status" replace />} />
            <Route path="/setup" element={<Navigate to="/status" replace />} />
            <Route path="/status" element={<StatusPage />} />
            <Route path="/analytics" element={<WorksheetPage />} />
            <Route path="/analytics/worksheets/:id" element={<WorksheetPage />} />
            <Route path="/analytics/charts" element={<ChartsPage />} />
            <Route path="/analytics/statistics" element={<StatisticsPage />} />
            <Route path="/analytics/datasets" element={<RecordedPage />} />
            <Route path="/analytics/query" element={<QueryPage />} />
            <Route path="/analytics/explore" element={<ExplorePage />} />
            <Route path="/alerts/thresholds/:id" element={<ThresholdPage />} />
            <Route path="/alerts/destinations/:id" element={<DestinationPage />} />
            <Route path="/alerts/silences/:id" element={<SilencePage />} />
            <Route path="/alerts/:tab?" element={<AlertsPage />} />
            <Route path="/storage/new" element={<NewPoolPage />} />
            <Route path="/storage/import" element={<ImportPage />} />
            <Route path="/storage/disks/:id" element={<DiskPage />} />
            <Route path="/storage/pools/:name/replace" element={<ReplacePage />} />
            <Route path="/storage/pools/:name/add" element={<AddDisksPage />} />
            <Route path="/storage/pools/:name/:tab?" element={<PoolPage />} />
            <Route path="/storage/replication" element={<ReplicationPage />} />
            <Route path="/storage/new-replication" element={<ReplicationFormPage />} />
            <Route path="/storage/replication/:id" element={<ReplicationFormPage />} />
            <Route path="/storage/datasets" element={<DatasetsPage />} />
            <Route path="/storage/new-dataset" element={<NewDatasetPage />} />
            <Route path="/storage/datasets/:name/:tab?" element={<DatasetPage />} />
            <Route path="/storage/datasets/:name/snapshots/:snapshot/:tab?" element={<SnapshotPage />} />
            <Route path="/storage/schedules" element={<SchedulesPage />} />
            <Route path="/storage/*" element={<StoragePage />} />
            <Route path="/services" element={<ServicesPage />} />
            <Route path="/services/logs" element={<LogsPage />} />
            <Route path="/services/requests" element={<RequestsPage />} />
            <Route path="/services/:name" element={<ServicePage />} />
            <Route path="/maintenance/*" element={<MaintenancePage />} />
            <Route path="*" element={<NoSuchPage />} />
          </Routes>
        </Suspense>
      </Frame>
    </SessionContext>
  );
}
