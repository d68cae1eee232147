// Reads smartctl's JSON (smartmontools 7): ATA's numbered attributes, NVMe's log, SCSI's pages.
import type { SelfTest, SmartReport } from '../poolActions.ts';

type Json = Record<string, unknown>;
const object = (value: unknown): Json => (typeof value === 'object' && value !== null ? (value as Json) : {});
const array = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
const number = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : null;

const text = (value: unknown): string | null =>
  typeof value === 'string' && value.trim() !== '' ? value.trim().slice(0, 40) : null;

function attribute(report: Json, id: number): number | null {
  const table = array(object(report.ata_smart_attributes).table).map(object);
  const found = table.find((one) => one.id === id);
  return found === undefined ? null : number(object(found.raw).value);
}

function selfTests(report: Json): SelfTest[] {
  const ata = array(object(object(report.ata_smart_self_test_log).standard).table).map(object);
  const nvme = array(object(report.nvme_self_test_log).table).map(object);
  const scsi = Object.keys(report)
    .filter((key) => /^scsi_self_test_\d+$/.test(key))
    .map((key) => object(report[key]));
  const words = (value: unknown) => String(object(value).string ?? 'unknown');
  return [
    ...ata.map((test) => ({
      kind: words(test.type),
      result: words(test.status),
      passed: typeof object(test.status).passed === 'boolean' ? (object(test.status).passed as boolean) : null,
      atPowerOnHours: number(test.lifetime_hours),
    })),
    ...nvme.map((test) => ({
      kind: words(test.self_test_code),
      result: words(test.self_test_result),
      passed: object(test.self_test_result).value === 0,
      atPowerOnHours: number(test.power_on_hours),
    })),
    ...scsi.map((test) => ({
      kind: words(test.code),
      result: words(test.result),
      passed: object(test.result).value === 0,
      atPowerOnHours: number(object(test.power_on_time).hours),
    })),
  ];
}

/** The bits of an NVMe disk's critical warning: NVM Express Base Specification 2.0, figure 207. */
const CRITICAL_WARNINGS = [
  'It has hardly any spare blocks left.',
  'It is hotter or colder than it may be.',
  'It has had so many errors that it is not reliable any more.',
  'It can only be read any more.',
  'What saves its cache at a power cut has failed.',
  'Its persistent memory has become read-only, or is not reliable any more.',
] as const;

export function readSmart(value: unknown): SmartReport {
  const report = object(value);
  const status = object(report.smart_status).passed;
  const nvme = object(report.nvme_smart_health_information_log);
  const ataStatus = object(object(report.ata_smart_data).self_test).status;
  const remaining = number(object(ataStatus).remaining_percent);
  const nvmeTest = number(object(report.nvme_self_test_log).current_self_test_completion_percent);
  const used = number(nvme.percentage_used) ?? number(report.scsi_percentage_used_endurance_indicator);
  const heat = object(report.temperature);
  const temperature = heat.current;
  // 0 is reported by a disk without a limit.
  const limit = (name: string) => ((number(heat[name]) ?? 0) >= 30 ? number(heat[name]) : null);
  const passed = typeof status === 'boolean' ? status : null;
  const warned = number(nvme.critical_warning) ?? 0;
  return {
    // ATA and NVMe; SCSI since smartmontools 7.3, and before (scsiprint.cpp).
    firmware: text(report.firmware_version) ?? text(report.scsi_revision) ?? text(report.revision),
    supported: passed !== null,
    passed,
    warnings: CRITICAL_WARNINGS.filter((_, bit) => (warned & (1 << bit)) !== 0),
    // 0 is what virtual disks, and some controllers, say that know none.
    temperatureCelsius: typeof temperature === 'number' && temperature !== 0 ? temperature : null,
    // NVMe states both, ATA the first two with SCT, SCSI where it switches itself off.
    highestCelsius: limit('op_limit_max'),
    criticalCelsius: limit('critical_limit_max') ?? limit('limit_max') ?? limit('drive_trip'),
    powerOnHours: number(object(report.power_on_time).hours),
    wearRatio: used === null ? null : used / 100,
    reallocatedSectors: attribute(report, 5) ?? number(report.scsi_grown_defect_list),
    pendingSectors: attribute(report, 197),
    testRunning:
      remaining !== null && remaining > 0
        ? { percent: 100 - remaining }
        : nvmeTest !== null && nvmeTest > 0
          ? { percent: nvmeTest }
          : null,
    selfTests: selfTests(report),
  };
}
