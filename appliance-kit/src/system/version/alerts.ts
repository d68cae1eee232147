// The alerts that this domain can raise: what the pages, the mails and the traps say of each.
import { alertClass } from '../../alerting/catalogue/alert-class.ts';

export interface StartedArgs {
  readonly hostName: string;
  readonly version: string;
  readonly bootId: string;
}

export const applianceStarted = alertClass<StartedArgs>({
  class: 'appliance.started',
  severity: () => 'info',
  title: ({ hostName }) => `${hostName} has started`,
  text: ({ hostName, version }) => `The appliance ${hostName} has started, with version ${version}.`,
  impact: () => 'While it was down no measurement was taken in.',
  response: () => 'All services are started automatically.',
  action: () => 'Nothing, if the start was expected. Otherwise look at the log for what came before it.',
  page: () => '/status',
  labels: ({ hostName }) => ({ host: hostName }),
  dedupKey: ({ bootId }) => `appliance.started/${bootId}`,
  example: { hostName: 'metrics1', version: '1', bootId: '5f1c9a52-77c5-4d6e-9d0d-2f6f7b2b8f11' },
  dedupExample: 'appliance.started/5f1c9a52-77c5-4d6e-9d0d-2f6f7b2b8f11',
  dependsOn: () => [],
  visibleAfterSeconds: 0,
  transient: true,
});

export interface UpdatedArgs {
  readonly hostName: string;
  readonly before: string;
  readonly version: string;
  readonly bootId: string;
}

export const applianceUpdated = alertClass<UpdatedArgs>({
  class: 'appliance.updated',
  severity: () => 'info',
  title: ({ hostName, version }) => `${hostName} runs version ${version}`,
  text: ({ hostName, before, version }) =>
    `The appliance ${hostName} has started with version ${version}; before it was ${before}.`,
  impact: () => 'Settings, measurements and the alert log are as they were.',
  response: () => 'What the new version keeps in another form was taken over at the start.',
  action: () => 'Nothing, if the update was expected. Otherwise find out who changed what the appliance starts from.',
  page: () => '/maintenance',
  labels: ({ hostName }) => ({ host: hostName }),
  dedupKey: ({ before, version, bootId }) => `appliance.updated/${before}/${version}/${bootId}`,
  example: { hostName: 'metrics1', before: '0.9', version: '1', bootId: '5f1c9a52-77c5-4d6e-9d0d-2f6f7b2b8f11' },
  dedupExample: 'appliance.updated/0.9/1/5f1c9a52-77c5-4d6e-9d0d-2f6f7b2b8f11',
  dependsOn: () => [],
  visibleAfterSeconds: 0,
  transient: true,
});

export const alertClasses = [applianceStarted, applianceUpdated] as const;
