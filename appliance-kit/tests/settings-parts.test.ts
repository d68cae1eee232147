// Whatever can be set by a route is in the settings document, or is named here with the reason why not: a new setting without a
// part fails.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allRoutes } from '../src/appliance.ts';
import { inOrder } from '../src/system/settings/order.ts';
import { bench } from './harness.ts';

/** What changes something and is no setting. */
const NO_SETTING: readonly (readonly [why: string, routes: string])[] = [
  [
    'it looks, tries or asks for something, and keeps nothing',
    `
    testAuditForwarding verifyAudit testProvider testDestination previewThreshold testOutput previewRecordingRule
    previewObjective fetchHostKey
    previewReplication planSettings exportSettings startPasskeyUse locateDisk testDisk estimateCompression watchStatistic`,
  ],
  [
    'it signs somebody in or out',
    `
    signIn signInByPasskey signOut confirmSession endSession endSessions startProvider finishProvider endAtProvider
    startSignInRequest collectSignIn approveSignInRequest refuseSignInRequest enterSetupCode`,
  ],
  ['a password is one person’s: the part users has its hash', 'changePassword resetPassword'],
  [
    'second factors belong to people and their devices',
    `
    startFactor finishFactor startPasskey finishPasskey removeFactor createRecoveryCodes clearFactors`,
  ],
  [
    'it holds for a time, and ends by itself',
    `
    setSshAccess createSilence updateSilence endSilence silenceAlertGroup silenceHosts tryFirewall cancelFirewall tryNetwork cancelNetwork suspendStatistic resumeStatistic
    suspendWorksheet resumeWorksheet`,
  ],
  ['somebody has to confirm it at an address that then holds, which no file can', 'confirmNetwork'],
  ['how far set-up has come is no setting', 'setSetupStep finishSetup'],
  [
    'it is about what has happened',
    `
    acknowledgeAlert withdrawAcknowledgement acknowledgeAlertGroup withdrawGroupAcknowledgement dismissNewSenders forgetSeries dismissCrash clearHardwareErrors retryController forgetLink clearPool`,
  ],
  [
    'it makes or brings a key of this machine, which no document may have',
    `
    replaceInputCertificate createSigningRequest previewCertificate installCertificate selfSignCertificate restoreCertificate`,
  ],
  [
    'pools, datasets and snapshots are what is stored, and no settings',
    `
    createPool importPool exportPool destroyPool scrubPool trimPool onlineDevice offlineDevice attachDisk detachDevice replaceDisk
    addToPool removeFromPool updatePool upgradePool wipeDisk placeTelemetry createDataset updateDataset destroyDataset renameDataset
    mountDataset unmountDataset loadDatasetKey unloadDatasetKey changeDatasetKey createSnapshots destroySnapshots holdSnapshots
    releaseSnapshots renameSnapshot cloneSnapshot rollback`,
  ],
  [
    'it does work once',
    `
    runReplication fillRecordingRule cancelRecordingRuleFill cancelJob createBundle deleteBundle retryBundle`,
  ],
  [
    'it concerns what runs now',
    `
    restartService startService stopService clearService reboot powerOff planPower cancelPowerPlan activateBootEnvironment simulate`,
  ],
  ['it applies a document', 'applySettings restoreSettings'],
];

test('each route that changes something is covered by a part, or is no setting', async (t) => {
  const { appliance } = await bench(t);
  const parts = appliance.settingsParts();
  const covered = parts.flatMap(({ covers }) => covers);
  const excepted = NO_SETTING.flatMap(([, names]) => names.trim().split(/\s+/));
  const changing = allRoutes
    .flatMap((routes) => Object.entries(routes))
    .filter(([, { method }]) => method !== 'GET')
    .map(([id]) => id);
  assert.deepEqual(
    changing.filter((id) => !covered.includes(id) && !excepted.includes(id)),
    [],
    'has neither a part nor a reason',
  );
  assert.deepEqual(
    [...covered, ...excepted].filter((id) => !changing.includes(id)),
    [],
    'is no route that changes something',
  );
  assert.deepEqual(
    excepted.filter((id, at) => covered.includes(id) || excepted.indexOf(id) !== at),
    [],
    'is named twice',
  );
});

test('parts have names of their own, and an order; what one names is applied before it', async (t) => {
  const { appliance } = await bench(t);
  const names = inOrder(appliance.settingsParts()).map(({ name }) => name);
  for (const name of names) assert.match(name, /^[a-z]+(-[a-z]+)*$/);
  for (const [before, after] of [
    ['destinations', 'alert-classes'],
    ['destinations', 'thresholds'],
    ['worksheets', 'thresholds'],
    ['users', 'tokens'],
    ['users', 'ssh-keys'],
  ] as const)
    assert.ok(names.indexOf(before) < names.indexOf(after), `${before} ${after}`);
});
