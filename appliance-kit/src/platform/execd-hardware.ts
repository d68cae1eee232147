// What both systems ask execd of the hardware: the firmware's tables and the management controller need privilege.
import type { Execd } from './execd.ts';
import type { Controller, ControllerEvent, ControllerSensor, Enclosure, HardwarePlatform } from './hardware.ts';
import { parseController, parseEvents, parseSensors } from './ipmi.ts';
import { type EnclosureAnswer, readEnclosures } from './ses.ts';
import { parseTables, type Tables } from './smbios.ts';

interface ControllerAnswer {
  readonly present: boolean;
  readonly text: string;
  readonly chassis?: string;
  readonly network?: string;
  readonly log?: string;
}

/** Both as the system's tools print them; cards: empty where akd asks for them by itself. */
export const askInventory = async (execd: Execd): Promise<{ text: string; cards: string }> =>
  (await execd.run('hardware.inventory', {})) as { text: string; cards: string };

export async function tables(execd: Execd): Promise<Tables> {
  return parseTables((await askInventory(execd)).text);
}

/** The management controller, by ipmitool. */
export function execdController(
  execd: Execd,
): Pick<HardwarePlatform, 'controller' | 'controllerSensors' | 'controllerEvents'> {
  const ask = async (what: 'about' | 'sensors' | 'events') =>
    (await execd.run('controller.read', { what })) as ControllerAnswer;
  return {
    controller: async (): Promise<Controller | null> => {
      const said = await ask('about');
      return said.present ? parseController(said) : null;
    },
    controllerSensors: async (): Promise<ControllerSensor[]> => parseSensors((await ask('sensors')).text),
    controllerEvents: async (): Promise<ControllerEvent[]> => parseEvents((await ask('events')).text),
  };
}

export const askEnclosures = async (execd: Execd): Promise<readonly EnclosureAnswer[]> =>
  ((await execd.run('enclosures.read', {})) as { enclosures: EnclosureAnswer[] }).enclosures;

export const execdEnclosures = async (execd: Execd): Promise<Enclosure[]> => readEnclosures(await askEnclosures(execd));
