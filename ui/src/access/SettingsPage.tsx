// Who and what may come in: users, sessions, API tokens, inputs; and what they did.
import { useParams } from 'react-router';
import { useMayNot } from '../api/session.ts';
import NoSuchPage from '../shells/NoSuchPage.tsx';
import { PageShell } from '../shells/PageShell.tsx';
import { PartTabs } from '../shells/PartTabs.tsx';
import { Network } from '../system/network/Network.tsx';
import { AuditLog } from './audit/AuditLog.tsx';
import { Chain } from './audit/Chain.tsx';
import { Forwarding } from './audit/Forwarding.tsx';
import { Keeping } from './audit/Keeping.tsx';
import { Certificate } from './certificate/Certificate.tsx';
import { Firewall } from './firewall/Firewall.tsx';
import { General } from './identity/General.tsx';
import { Inputs } from './inputs/Inputs.tsx';
import { Providers } from './providers/Providers.tsx';
import { AllSessions } from './session/AllSessions.tsx';
import { Apply } from './settings-document/Apply.tsx';
import { Export } from './settings-document/Export.tsx';
import { History } from './settings-document/History.tsx';
import { Ssh } from './ssh/Ssh.tsx';
import { Tokens } from './tokens/Tokens.tsx';
import { Users } from './users/Users.tsx';

const tabs = [
  ['general', 'General', '/settings/general'],
  ['users', 'Users', '/settings/users'],
  ['providers', 'Identity providers', '/settings/providers'],
  ['sessions', 'Sessions', '/settings/sessions'],
  ['tokens', 'API tokens', '/settings/tokens'],
  ['inputs', 'Inputs', '/settings/inputs'],
  ['network', 'Network', '/settings/network'],
  ['firewall', 'Firewall', '/settings/firewall'],
  ['certificate', 'Certificate', '/settings/certificate'],
  ['ssh', 'SSH', '/settings/ssh'],
  ['audit', 'Audit log', '/settings/audit'],
  ['audit-proof', 'Audit proof', '/settings/audit-proof'],
  ['history', 'History', '/settings/history'],
  ['document', 'Settings file', '/settings/document'],
] as const;

const parts = {
  general: {
    title: 'General',
    sentence: 'How the appliance is called, and in which time zone it is.',
    content: <General />,
  },
  users: { title: 'Users', sentence: 'Who may sign in, and what each may do.', content: <Users /> },
  providers: {
    title: 'Identity providers',
    sentence: 'Where people sign in who have no account of this appliance.',
    content: <Providers />,
  },
  sessions: { title: 'Sessions', sentence: 'Who is signed in, and for how long.', content: <AllSessions /> },
  tokens: {
    title: 'API tokens',
    sentence: 'What programs sign in with that send metrics over HTTPS, or read them.',
    content: <Tokens />,
  },
  inputs: { title: 'Inputs', sentence: 'By which ways samples come in, and from where.', content: <Inputs /> },
  network: {
    title: 'Network',
    sentence: 'The addresses of this machine; a change holds only when it is confirmed.',
    content: <Network />,
  },
  firewall: {
    title: 'Firewall',
    sentence: 'Who may reach what from the network, and who was turned away.',
    content: <Firewall />,
  },
  certificate: {
    title: 'Certificate',
    sentence: 'By what browsers and programs know that this page is this appliance’s.',
    content: <Certificate />,
  },
  ssh: {
    title: 'SSH',
    sentence: 'Whether users come in by ssh, until when, from where, and by which keys.',
    content: <Ssh />,
  },
  audit: {
    title: 'Audit log',
    sentence: 'Who did what, from where, and what was there before.',
    content: <AuditLog />,
  },
  'audit-proof': {
    title: 'Audit proof',
    sentence: 'That the audit log is what was written, how long it is kept, and where else it is.',
    content: (
      <div className="cistern-stack">
        <Chain />
        <Keeping />
        <Forwarding />
      </div>
    ),
  },
  history: {
    title: 'History of the settings',
    sentence: 'Who changed which settings, what they were before, and the way back.',
    content: <History />,
  },
  document: {
    title: 'Settings file',
    sentence: 'All that can be set, as one file: to keep, to compare, to set another appliance up alike.',
    content: (
      <div className="cistern-stack">
        <Export />
        <Apply />
      </div>
    ),
  },
};

export default function SettingsPage() {
  const { tab = 'users' } = useParams();
  const mayNot = useMayNot('administrator');
  if (!Object.hasOwn(parts, tab)) return <NoSuchPage />;
  const id = tab as keyof typeof parts;
  const { title, sentence, content } = parts[id];
  return (
    <PageShell title={title} sentence={sentence} tabs={<PartTabs of="Settings" parts={tabs} active={id} />}>
      {mayNot === null ? content : <p>{mayNot}</p>}
    </PageShell>
  );
}
