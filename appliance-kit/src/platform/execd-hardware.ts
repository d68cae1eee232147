// What both systems ask execd of the hardware: the firmware's tables and the management controller need privilege.
import type { Execd } from './execd.ts';
import type { Controller, ControllerEvent, ControllerSensor, HardwarePlatform } from './hardware.ts';
import { parseController, parseEvents, parseSensors } from './ipmi.ts';
import { parseTables, type Tables } from './smbios.ts';

interface ControllerAnswer {
  readonly present: boolean;
  readonly text: string;
  readonly chassis?: string;
  readonly network?: string;
  readonly log?: string;
}

export async function tables(execd: Execd): Promise<Tables> {
  return parseTables(((await execd.run('hardware.inventory', {})) as { text: string }).text);
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
