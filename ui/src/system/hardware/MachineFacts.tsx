// The machine, as its firmware has it, and its management controller.
import { Button, Card, CardBody, CardTitle } from '@patternfly/react-core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { answerOf, client } from '../../api/client.ts';
import { useMayNot } from '../../api/session.ts';
import { Explained } from '../../forms/Explained.tsx';
import { type Fact, Facts } from '../../shells/Facts.tsx';
import { Ago } from '../../words/Ago.tsx';
import { type Condition, ConditionIcon } from '../../words/ConditionIcon.tsx';
import { bytes, exactBytes, percent } from '../../words/format.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { type Hardware, hardwareQuery } from './queries.ts';
import { joined, lockdownWords, pageOf, secureBootWords } from './words.ts';

/** A fact that is left out when nothing is known of it. */
const known = (term: string, value: string | null): Fact[] => (value === null || value === '' ? [] : [[term, value]]);

const kinds = { uefi: 'UEFI', bios: 'BIOS' } as const;

export function MachineCard({ summary, memoryBytes }: Pick<Hardware, 'summary' | 'memoryBytes'>) {
  if (summary === null) return null;
  const { board, firmware } = summary;
  const started = firmware.kind === null ? null : `started by ${kinds[firmware.kind]}`;
  const version = [joined(firmware.maker, firmware.version), firmware.date, started].filter((part) => part !== null);
  const facts: Fact[] = [
    ...known('Maker', summary.maker),
    ...known('Product', summary.product),
    ['Serial number', summary.serial ?? 'the firmware does not have it'],
    ...known('Asset tag', summary.assetTag),
    ...known(
      'Board',
      [joined(board.maker, board.product), board.serial && `serial number ${board.serial}`].filter(Boolean).join(', '),
    ),
    ...(memoryBytes === null
      ? []
      : [
          [
            'Memory',
            <span key="m" title={exactBytes(memoryBytes)}>
              {bytes(memoryBytes)}
            </span>,
          ] as const,
        ]),
    ['Firmware', version.join(', ') || 'not known'],
    [
      'Secure Boot',
      <span key="s">
        {secureBootWords(summary)}
        {(summary.secureBoot === 'on' || summary.secureBoot === 'off') && (
          <>
            {' '}
            <a href="/docs/manual/install.html#secure-boot" target="_blank" rel="noopener">
              How to
            </a>
          </>
        )}
      </span>,
    ],
    ['Kernel lockdown', lockdownWords(summary.lockdown)],
    ...known('Microcode', summary.microcode && `0x${summary.microcode}`),
  ];
  return (
    <Card component="section" aria-labelledby="machine">
      <CardTitle component="h2" id="machine">
        The machine
      </CardTitle>
      <CardBody>
        <Facts facts={facts} isHorizontal isCompact className="cistern-wrap" />
      </CardBody>
    </Card>
  );
}

const controllerStates: Record<Hardware['controller']['state'], Condition> = {
  none: 'info',
  answers: 'ok',
  silent: 'warning',
  asked: 'info',
};
/** From here on a log is nearly full; most stop recording when they are. */
const NEARLY_FULL = 0.9;

/** A controller that took long is left alone for a while: whoever has just mended it need not wait for that. */
function AskNow() {
  const mayNot = useMayNot('operator');
  const queries = useQueryClient();
  const ask = useMutation({
    mutationFn: () => answerOf(client.POST('/api/hardware/retry-controller')),
    onSuccess: () => queries.invalidateQueries({ queryKey: hardwareQuery.queryKey }),
  });
  return (
    <>
      <ProblemAlert error={ask.error} />
      <div>
        <Explained why={mayNot}>
          <Button
            variant="secondary"
            size="sm"
            isLoading={ask.isPending}
            isAriaDisabled={mayNot !== null || ask.isPending}
            onClick={() => ask.mutate()}
          >
            Ask it now
          </Button>
        </Explained>
      </div>
      {ask.isSuccess && (
        <p role="status">It is asked. What it answers is shown here, within two minutes or not at all.</p>
      )}
    </>
  );
}

export function ControllerCard({ controller, sensors }: Pick<Hardware, 'controller' | 'sensors'>) {
  const { state, sentence, maker, firmware, address, mac, logUsedRatio, ageSeconds } = controller;
  if (state === 'none') return null;
  const full = logUsedRatio !== null && logUsedRatio >= NEARLY_FULL;
  const facts: Fact[] = [
    ...known('Maker', maker),
    ...known('Firmware', firmware),
    ...(address === null
      ? []
      : [
          [
            'Web page',
            <a key="a" href={pageOf(address)} target="_blank" rel="noopener noreferrer">
              {address}
            </a>,
          ] as const,
        ]),
    ...known('MAC address', mac),
    ...(logUsedRatio === null
      ? []
      : [
          [
            'Event log',
            <span key="l">
              {full && <ConditionIcon state="warning" />} {percent(logUsedRatio, 0)} full.
              {full && ' Empty it on that web page: most controllers log nothing more when it is full.'}
            </span>,
          ] as const,
        ]),
    ...(sensors.length === 0 ? [] : [['Sensors read', <Ago key="r" time={Date.now() - ageSeconds * 1000} />] as const]),
  ];
  return (
    <Card component="section" aria-labelledby="controller">
      <CardTitle component="h2" id="controller">
        Management controller
      </CardTitle>
      <CardBody className="cistern-tight">
        <p>
          <ConditionIcon state={controllerStates[state]} /> {sentence}
        </p>
        {state === 'asked' && <p>It is asked again; its sensors and its log are shown as soon as it answers.</p>}
        {state === 'silent' && sensors.length > 0 && <p>What is shown of its sensors is what it answered last.</p>}
        {state === 'silent' && <AskNow />}
        <Facts facts={facts} isHorizontal isCompact className="cistern-wrap" />
      </CardBody>
    </Card>
  );
}
