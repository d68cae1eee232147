// What is shown: the wizard until set-up is finished, the sign-in page without a session, else the frame with a page.
import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useRef, useState } from 'react';
import { Navigate, Route, Routes, useLocation } from 'react-router';
import { AskForPassword } from '../access/session/AskForPassword.tsx';
import { SigningOut } from '../access/session/SigningOut.tsx';
import { safePath } from '../access/session/safePath.ts';
import { sessionQuery, setupQuery } from '../api/queries.ts';
import { SessionContext } from '../api/session.ts';
import { PageLoading } from '../shells/Waiting.tsx';
import { Frame } from './Frame.tsx';
import { LiveBanner } from './LiveBanner.tsx';
import { NotAnswering } from './NotAnswering.tsx';

const SignInPage = lazy(() => import('../access/session/SignInPage.tsx'));
const AddFactorPage = lazy(() => import('../access/factors/AddFactorPage.tsx'));
const NewPasswordPage = lazy(() => import('../access/session/NewPasswordPage.tsx'));
const SettingsPage = lazy(() => import('../access/SettingsPage.tsx'));
const UserPage = lazy(() => import('../access/users/UserPage.tsx'));
const SignInRequestPage = lazy(() => import('../access/sign-in-request/SignInRequestPage.tsx'));
const ProviderPage = lazy(() => import('../access/providers/ProviderPage.tsx'));
const CallbackPage = lazy(() => import('../access/providers/CallbackPage.tsx'));
const ProfilePage = lazy(() => import('../access/session/ProfilePage.tsx'));
const CommandLinePage = lazy(() => import('../access/command-line/CommandLinePage.tsx'));
const SetupPage = lazy(() => import('../access/setup/SetupPage.tsx'));
const StatusPage = lazy(() => import('../system/status/StatusPage.tsx'));
const WorksheetPage = lazy(() => import('../analytics/worksheets/WorksheetPage.tsx'));
const ChartsPage = lazy(() => import('../analytics/panels/ChartsPage.tsx'));
const StatisticsPage = lazy(() => import('../analytics/statistics/StatisticsPage.tsx'));
const RecordedDatasetsPage = lazy(() => import('../analytics/statistics/RecordedDatasetsPage.tsx'));
const ObjectivesPage = lazy(() => import('../analytics/objectives/ObjectivesPage.tsx'));
const ObjectivePage = lazy(() => import('../analytics/objectives/ObjectivePage.tsx'));
const RecordingRulesPage = lazy(() => import('../analytics/recording-rules/RecordingRulesPage.tsx'));
const RecordingRulePage = lazy(() => import('../analytics/recording-rules/RecordingRulePage.tsx'));
const QueryPage = lazy(() => import('../analytics/explore/QueryPage.tsx'));
const ExplorePage = lazy(() => import('../analytics/explore/ExplorePage.tsx'));
const ApplicationsPage = lazy(() => import('../analytics/applications/ApplicationsPage.tsx'));
const ApplicationPage = lazy(() => import('../analytics/applications/ApplicationPage.tsx'));
const HostsPage = lazy(() => import('../analytics/hosts/HostsPage.tsx'));
const HostPage = lazy(() => import('../analytics/hosts/HostPage.tsx'));
const AlertsPage = lazy(() => import('../alerting/alerts/AlertsPage.tsx'));
const ThresholdPage = lazy(() => import('../alerting/thresholds/ThresholdPage.tsx'));
const DestinationPage = lazy(() => import('../alerting/destinations/DestinationPage.tsx'));
const SilencePage = lazy(() => import('../alerting/silences/SilencePage.tsx'));
const StoragePage = lazy(() => import('../storage/pools/StoragePage.tsx'));
const NewPoolPage = lazy(() => import('../storage/pools/NewPoolPage.tsx'));
const PoolPage = lazy(() => import('../storage/pools/PoolPage.tsx'));
const ReplacePage = lazy(() => import('../storage/pools/ReplacePage.tsx'));
const AddDisksPage = lazy(() => import('../storage/pools/AddDisksPage.tsx'));
const ImportPage = lazy(() => import('../storage/pools/ImportPage.tsx'));
const DiskPage = lazy(() => import('../storage/disks/DiskPage.tsx'));
const ReplicationPage = lazy(() => import('../storage/replication/ReplicationPage.tsx'));
const ReplicationFormPage = lazy(() => import('../storage/replication/ReplicationFormPage.tsx'));
const DatasetsPage = lazy(() => import('../storage/datasets/DatasetsPage.tsx'));
const NewDatasetPage = lazy(() => import('../storage/datasets/NewDatasetPage.tsx'));
const DatasetPage = lazy(() => import('../storage/datasets/DatasetPage.tsx'));
const SnapshotPage = lazy(() => import('../storage/snapshots/SnapshotPage.tsx'));
const SchedulesPage = lazy(() => import('../storage/schedules/SchedulesPage.tsx'));
const ChangedPage = lazy(() => import('../analytics/changed/ChangedPage.tsx'));
const OutputsPage = lazy(() => import('../analytics/outputs/OutputsPage.tsx'));
const OutputPage = lazy(() => import('../analytics/outputs/OutputPage.tsx'));
const ServicesPage = lazy(() => import('../system/services/ServicesPage.tsx'));
const ServicePage = lazy(() => import('../system/services/ServicePage.tsx'));
const LogsPage = lazy(() => import('../system/logs/LogsPage.tsx'));
const RequestsPage = lazy(() => import('../system/logs/RequestsPage.tsx'));
const HardwarePage = lazy(() => import('../system/hardware/HardwarePage.tsx'));
const PowerPage = lazy(() => import('../system/power/PowerPage.tsx'));
const ConfirmNetworkPage = lazy(() => import('../system/network/ConfirmPage.tsx'));
const TuningPage = lazy(() => import('../system/tuning/TuningPage.tsx'));
const TimePage = lazy(() => import('../system/time/TimePage.tsx'));
const MaintenancePage = lazy(() => import('./MaintenancePage.tsx'));
const NoSuchPage = lazy(() => import('../shells/NoSuchPage.tsx'));

export function App() {
  const location = useLocation();
  const setup = useQuery({ ...setupQuery, refetchInterval: (query) => (query.state.data ? false : 2_000) });
  const session = useQuery({ ...sessionQuery, refetchInterval: (query) => (query.state.data ? 60_000 : 2_000) });

  const lastError = useRef<unknown>(null);
  // The recovery codes are still on the page when the session needs nothing more.
  const [addingFactor, setAddingFactor] = useState(false);
  const [leaving, setLeaving] = useState(false);
  const signOut = () => setLeaving(true);

  if (leaving) return <SigningOut done={() => setLeaving(false)} />;

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

  if (location.pathname === '/sign-in/callback') {
    return (
      <Suspense fallback={<PageLoading />}>
        <CallbackPage />
      </Suspense>
    );
  }
  if (location.pathname === '/confirm-network') {
    return (
      <Suspense fallback={<PageLoading />}>
        <ConfirmNetworkPage />
      </Suspense>
    );
  }
  if (location.pathname === '/sign-in' || mustSignIn) {
    if (!mustSignIn) return <Navigate to={safePath(new URLSearchParams(location.search).get('to'))} replace />;
    if (location.pathname !== '/sign-in') {
      return <Navigate to={here === '/' ? '/sign-in' : `/sign-in?to=${encodeURIComponent(here)}`} replace />;
    }
    return (
      <Suspense fallback={<PageLoading />}>
        <LiveBanner />
        <SignInPage />
      </Suspense>
    );
  }
  if (!setup.data.completed) {
    if (location.pathname !== '/setup') return <Navigate to="/setup" replace />;
    return (
      <Suspense fallback={<PageLoading />}>
        <LiveBanner />
        <SetupPage />
      </Suspense>
    );
  }
  if (user === null) return <Navigate to="/sign-in" replace />;
  if (session.data.mustChangePassword) {
    return (
      <Suspense fallback={<PageLoading />}>
        <NewPasswordPage user={user.name} signOut={signOut} />
      </Suspense>
    );
  }
  if (session.data.mustAddFactor || addingFactor) {
    return (
      <Suspense fallback={<PageLoading />}>
        <AskForPassword />
        <AddFactorPage user={user.name} hold={setAddingFactor} signOut={signOut} />
      </Suspense>
    );
  }
  return (
    <SessionContext value={user}>
      <AskForPassword />
      <Frame signOut={signOut}>
        <Suspense fallback={<PageLoading />}>
          <Routes>
            <Route path="/" element={<Navigate to="/status" replace />} />
            <Route
              path="/setup"
              element={<Navigate to={safePath(new URLSearchParams(location.search).get('to'))} replace />}
            />
            <Route path="/status" element={<StatusPage />} />
            <Route path="/analytics" element={<WorksheetPage />} />
            <Route path="/analytics/worksheets/:id" element={<WorksheetPage />} />
            <Route path="/analytics/charts" element={<ChartsPage />} />
            <Route path="/analytics/statistics" element={<StatisticsPage />} />
            <Route path="/analytics/datasets" element={<RecordedDatasetsPage />} />
            <Route path="/analytics/objectives" element={<ObjectivesPage />} />
            <Route path="/analytics/objectives/:id" element={<ObjectivePage />} />
            <Route path="/analytics/recording-rules" element={<RecordingRulesPage />} />
            <Route path="/analytics/recording-rules/:id" element={<RecordingRulePage />} />
            <Route path="/analytics/query" element={<QueryPage />} />
            <Route path="/analytics/explore" element={<ExplorePage />} />
            <Route path="/analytics/changed" element={<ChangedPage />} />
            <Route path="/analytics/outputs" element={<OutputsPage />} />
            <Route path="/analytics/outputs/:id" element={<OutputPage />} />
            <Route path="/hosts" element={<HostsPage />} />
            <Route path="/hosts/:name" element={<HostPage />} />
            <Route path="/applications" element={<ApplicationsPage />} />
            <Route path="/applications/:name/:operation?" element={<ApplicationPage />} />
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
            <Route path="/sign-in-request" element={<SignInRequestPage />} />
            <Route path="/profile" element={<ProfilePage />} />
            <Route path="/profile/command-line" element={<CommandLinePage />} />
            <Route path="/settings/providers/:id" element={<ProviderPage />} />
            <Route path="/settings/users/:name" element={<UserPage />} />
            <Route path="/settings/:tab?" element={<SettingsPage />} />
            <Route path="/maintenance/hardware" element={<HardwarePage />} />
            <Route path="/maintenance/time" element={<TimePage />} />
            <Route path="/maintenance/power" element={<PowerPage />} />
            <Route path="/maintenance/tuning" element={<TuningPage />} />
            <Route path="/maintenance/*" element={<MaintenancePage />} />
            <Route path="*" element={<NoSuchPage />} />
          </Routes>
        </Suspense>
      </Frame>
    </SessionContext>
  );
}
