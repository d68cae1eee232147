import '@patternfly/react-core/dist/styles/base.css';
// In this order: of rules for the same element the later one counts.
import './theme/base.css';
import './frame/frame.css';
import './shells/shells.css';
import './forms/forms.css';
import './access/access.css';
import './support/support.css';
import './system/logs.css';
import './system/hardware.css';
import './storage/storage.css';
import './alerting/alerting.css';
import './charts/charts.css';
import './analytics/analytics.css';
import './analytics/applications/applications.css';
import './analytics/hosts/hosts.css';
import { QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { BrowserRouter } from 'react-router';
import { asProblem } from './api/problem.ts';
import { sessionQuery } from './api/queries.ts';
import { App } from './frame/App.tsx';

const queries: QueryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 1_000,
      // A refused request is not retried; a part that is down may be back in a moment.
      retry: (count, error) => count < 2 && asProblem(error).status >= 500,
      retryDelay: 500,
      refetchOnWindowFocus: true,
    },
    mutations: { retry: false },
  },
  queryCache: new QueryCache({
    onError: (error, query) => {
      // The session has ended: reading it again leads to the sign-in page.
      if (asProblem(error).code === 'unauthenticated' && query.queryKey[0] !== 'session') {
        void queries.invalidateQueries({ queryKey: sessionQuery.queryKey });
      }
    },
  }),
});

createRoot(document.getElementById('root') as HTMLElement).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <BrowserRouter>
        <App />
      </BrowserRouter>
    </QueryClientProvider>
  </StrictMode>,
);
