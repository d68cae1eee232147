// What surrounds every page: navigation at the left (a drawer on a phone), the appliance's name, jobs, alerts and the
// user at the top, and the line that says when something does not answer.
import {
  Divider,
  Dropdown,
  DropdownGroup,
  DropdownItem,
  DropdownList,
  Masthead,
  MastheadBrand,
  MastheadContent,
  MastheadMain,
  MastheadToggle,
  MenuToggle,
  Nav,
  NavItem,
  NavList,
  NotificationBadge,
  Page,
  PageSidebar,
  PageSidebarBody,
  PageToggleButton,
  SkipToContent,
  Toolbar,
  ToolbarContent,
  ToolbarGroup,
  ToolbarItem,
} from '@patternfly/react-core';
import BarsIcon from '@patternfly/react-icons/dist/esm/icons/bars-icon';
import BellIcon from '@patternfly/react-icons/dist/esm/icons/bell-icon';
import QuestionIcon from '@patternfly/react-icons/dist/esm/icons/question-circle-icon';
import SearchIcon from '@patternfly/react-icons/dist/esm/icons/search-icon';
import UserIcon from '@patternfly/react-icons/dist/esm/icons/user-icon';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, use, useCallback, useEffect, useRef, useState } from 'react';
import { Link, useLocation, useNavigate } from 'react-router';
import { listen } from '../api/events.ts';
import { alertSummaryQuery, setupQuery, statusQuery } from '../api/queries.ts';
import { SessionContext } from '../api/session.ts';
import './help.css';
import { Connection } from '../shells/Connection.tsx';
import { chooseTheme, type ThemeChoice, useThemeChoice } from '../theme/theme.ts';
import { plural } from '../words/format.ts';
import { Jobs } from './Jobs.tsx';
import { LiveBanner } from './LiveBanner.tsx';
import { PlanBanner } from './PlanBanner.tsx';
import { manualOf, navigation, places } from './places.ts';
import { Search } from './search/Search.tsx';
import { useShortcuts } from './shortcuts.ts';

const themes: [ThemeChoice, string][] = [
  ['system', 'Theme: as the system'],
  ['light', 'Theme: light'],
  ['dark', 'Theme: dark'],
];

function UserMenu({ signOut }: { signOut: () => void }) {
  const user = use(SessionContext);
  const { pathname } = useLocation();
  const navigate = useNavigate();
  const [open, setOpen] = useState(false);
  const theme = useThemeChoice();
  return (
    <Dropdown
      isOpen={open}
      onOpenChange={setOpen}
      onSelect={() => setOpen(false)}
      popperProps={{ position: 'right' }}
      toggle={(ref) => (
        <MenuToggle
          ref={ref}
          variant="plainText"
          icon={<UserIcon />}
          isExpanded={open}
          onClick={() => setOpen(!open)}
          aria-label={`${user.name}: user menu`}
        >
          <span className="cistern-wide">{user.name}</span>
        </MenuToggle>
      )}
    >
      <DropdownGroup label={`Signed in as ${user.role}`}>
        <DropdownList>
          {themes.map(([choice, text]) => (
            <DropdownItem key={choice} isSelected={theme === choice} onClick={() => chooseTheme(choice)}>
              {text}
            </DropdownItem>
          ))}
        </DropdownList>
      </DropdownGroup>
      <Divider />
      <DropdownList>
        <DropdownItem onClick={() => void navigate('/profile')}>Profile</DropdownItem>
        <DropdownItem to={manualOf(pathname)} target="_blank" rel="noopener">
          Manual
        </DropdownItem>
        <DropdownItem onClick={signOut}>Sign out</DropdownItem>
      </DropdownList>
    </Dropdown>
  );
}

function AlertBell() {
  const { data: alerts } = useQuery(alertSummaryQuery);
  const navigate = useNavigate();
  const { critical = 0, warning = 0, info = 0 } = alerts ?? {};
  const count = critical + warning + info;
  const worst = critical > 0 ? 'critical' : warning > 0 ? 'warning' : count > 0 ? 'info' : 'none';
  // More is a number that nobody reads at a glance, and too wide for a phone.
  const shown = count > 99 ? '99+' : String(count);
  const label =
    count === 0
      ? 'No active alerts'
      : `${shown === '99+' ? `99+ active alerts (${count.toLocaleString()})` : plural(count, 'active alert')}, the worst is ${worst === 'info' ? 'for information' : worst}`;
  return (
    <NotificationBadge
      className={`cistern-bell cistern-bell-${worst}`}
      variant={count > 0 ? 'unread' : 'read'}
      icon={<BellIcon />}
      aria-label={label}
      title={label}
      onClick={() => void navigate('/alerts')}
    >
      {count > 0 ? shown : undefined}
    </NotificationBadge>
  );
}

function useTitle(appliance: string | undefined): void {
  const { pathname } = useLocation();
  useEffect(() => {
    const place =
      [...places].reverse().find(({ path }) => pathname === path) ??
      places.find(({ path }) => pathname.startsWith(path));
    document.title = [place?.title, appliance, 'Cistern'].filter(Boolean).join(' · ');
  }, [pathname, appliance]);
}

export function Frame({ signOut, children }: { signOut: () => void; children: ReactNode }) {
  const queries = useQueryClient();
  const { pathname } = useLocation();
  const { data: setup } = useQuery(setupQuery);
  const { data: status } = useQuery(statusQuery);
  const [searching, setSearching] = useState(false);
  const main = useRef<string>(pathname);
  const name = status?.hostName ?? setup?.hostName;
  useEffect(() => listen(queries), [queries]);
  useShortcuts(useCallback(() => setSearching(true), []));
  useTitle(name);
  useEffect(() => {
    // A new page begins at its top.
    if (main.current !== pathname) document.getElementById('main')?.scrollTo(0, 0);
    main.current = pathname;
  }, [pathname]);

  const masthead = (
    <Masthead className="cistern-masthead" display={{ default: 'inline' }}>
      <MastheadMain>
        <MastheadToggle>
          <PageToggleButton aria-label="Navigation" variant="plain">
            <BarsIcon />
          </PageToggleButton>
        </MastheadToggle>
        <MastheadBrand>
          <Link to="/status" className="cistern-brand">
            <img src="/icon.svg" alt="" width="28" height="28" />
            <span>{name ?? 'Cistern'}</span>
          </Link>
        </MastheadBrand>
      </MastheadMain>
      <MastheadContent>
        <Toolbar isStatic>
          <ToolbarContent>
            <ToolbarGroup align={{ default: 'alignEnd' }} gap={{ default: 'gapXs' }}>
              <ToolbarItem>
                <button type="button" className="cistern-search" aria-label="Search" onClick={() => setSearching(true)}>
                  <SearchIcon /> <span className="cistern-wide">Search</span> <kbd className="cistern-wide">/</kbd>
                </button>
              </ToolbarItem>
              <ToolbarItem>
                <Jobs />
              </ToolbarItem>
              <ToolbarItem>
                <AlertBell />
              </ToolbarItem>
              <ToolbarItem>
                <a
                  className="cistern-help cistern-wide"
                  href={manualOf(pathname)}
                  target="_blank"
                  rel="noopener"
                  aria-label="Manual: what this page is"
                  title="Manual"
                >
                  <QuestionIcon />
                </a>
              </ToolbarItem>
              <ToolbarItem>
                <UserMenu signOut={signOut} />
              </ToolbarItem>
            </ToolbarGroup>
          </ToolbarContent>
        </Toolbar>
      </MastheadContent>
    </Masthead>
  );
  const sidebar = (
    <PageSidebar>
      <PageSidebarBody>
        <Nav aria-label="Pages">
          <NavList>
            {navigation.map((place) => (
              <NavItem key={place.path} isActive={pathname.startsWith(place.path)} preventDefault={false}>
                <Link to={place.path} title={`${place.about} (g ${place.key})`}>
                  {place.title}
                </Link>
              </NavItem>
            ))}
          </NavList>
        </Nav>
      </PageSidebarBody>
    </PageSidebar>
  );
  return (
    <Page
      masthead={masthead}
      sidebar={sidebar}
      isManagedSidebar
      mainContainerId="main"
      skipToContent={<SkipToContent href="#main">Skip to content</SkipToContent>}
      banner={
        <>
          <LiveBanner />
          <PlanBanner />
          <Connection />
        </>
      }
    >
      {children}
      {searching && <Search onClose={() => setSearching(false)} />}
    </Page>
  );
}
