import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseTables } from './smbios.ts';

/** As dmidecode 3.6 prints them (dmidecode.c). */
const DMIDECODE = `# dmidecode 3.6
Getting SMBIOS data from sysfs.
SMBIOS 3.3.0 present.

Handle 0x0000, DMI type 0, 26 bytes
BIOS Information
	Vendor: American Megatrends Inc.
	Version: 3.4
	Release Date: 05/17/2024
	Characteristics:
		PCI is supported
		UEFI is supported

Handle 0x0001, DMI type 1, 27 bytes
System Information
	Manufacturer: Supermicro
	Product Name: SYS-5019
	Version: 0123456789
	Serial Number: S123456X
	UUID: 00000000-0000-0000-0000-ac1f6b000000

Handle 0x0002, DMI type 2, 15 bytes
Base Board Information
	Manufacturer: Supermicro
	Product Name: X11SSH-F
	Serial Number: ZM17AS000000

Handle 0x0003, DMI type 3, 22 bytes
Chassis Information
	Serial Number: C813LAJ00000000
	Asset Tag: To be filled by O.E.M.

Handle 0x0004, DMI type 4, 48 bytes
Processor Information
	Socket Designation: CPU1
	Version: Intel(R) Xeon(R) CPU E3-1230 v6 @ 3.50GHz
	Status: Populated, Enabled
	Core Count: 4
	Core Enabled: 4
	Thread Count: 8

Handle 0x0005, DMI type 4, 48 bytes
Processor Information
	Socket Designation: CPU2
	Status: Unpopulated

Handle 0x0011, DMI type 17, 84 bytes
Memory Device
	Size: 16 GB
	Locator: DIMMA1
	Bank Locator: P0_Node0_Channel0_Dimm0
	Type: DDR4
	Type Detail: Synchronous
	Speed: 2667 MT/s
	Manufacturer: Samsung
	Serial Number: 03A1B2C3
	Part Number: M391A2K43BB1-CTD
	Configured Memory Speed: 2400 MT/s

Handle 0x0012, DMI type 17, 84 bytes
Memory Device
	Size: No Module Installed
	Locator: DIMMA2
	Type: Unknown
	Manufacturer: NO DIMM
`;

/** As smbios(8) of illumos prints the same (usr/src/cmd/smbios/smbios.c: print_struct, print_common and those of each type). */
const SMBIOS = `ID    SIZE TYPE
0     26   SMB_TYPE_BIOS (type 0) (BIOS information)

  Vendor: American Megatrends Inc.
  Version String: 3.4
  Release Date: 05/17/2024
  Address Segment: 0xf000
  Characteristics: 0x8c99
	SMB_BIOSFL_PCI (PCI is supported)

ID    SIZE TYPE
1     27   SMB_TYPE_SYSTEM (type 1) (system information)

  Manufacturer: Supermicro
  Product: SYS-5019
  Version: 0123456789
  Serial Number: S123456X

  UUID: 00000000-0000-0000-0000-ac1f6b000000
  Wake-Up Event: 0x6 (power switch)

ID    SIZE TYPE
2     15   SMB_TYPE_BASEBOARD (type 2) (base board)

  Manufacturer: Supermicro
  Product: X11SSH-F
  Serial Number: ZM17AS000000

  Chassis: 3

ID    SIZE TYPE
3     22   SMB_TYPE_CHASSIS (type 3) (system enclosure or chassis)

  Serial Number: C813LAJ00000000
  Asset Tag: To be filled by O.E.M.

ID    SIZE TYPE
4     48   SMB_TYPE_PROCESSOR (type 4) (processor)

  Version: Intel(R) Xeon(R) CPU E3-1230 v6 @ 3.50GHz
  Location Tag: CPU1

  Family: 179 (Intel Xeon)
  Socket Status: Populated
  Core Count: 4
  Cores Enabled: 4
  Thread Count: 8

ID    SIZE TYPE
5     48   SMB_TYPE_PROCESSOR (type 4) (processor)

  Location Tag: CPU2

  Socket Status: Not Populated

ID    SIZE TYPE
17    84   SMB_TYPE_MEMDEVICE (type 17) (memory device)

  Manufacturer: Samsung
  Serial Number: 03A1B2C3
  Location Tag: DIMMA1
  Part Number: M391A2K43BB1-CTD

  Physical Memory Array: 16
  Size: 17179869184 bytes
  Form Factor: 9 (DIMM)
  Memory Type: 26 (DDR4)
  Speed: 2667 MT/s
  Configured Speed: 2400 MT/s
  Device Locator: DIMMA1

ID    SIZE TYPE
18    84   SMB_TYPE_MEMDEVICE (type 17) (memory device)

  Manufacturer: NO DIMM
  Location Tag: DIMMA2

  Size: Not Populated
  Memory Type: 2 (unknown)
  Speed: Unknown
  Device Locator: DIMMA2
`;

for (const [tool, output] of [
  ['dmidecode', DMIDECODE],
  ['smbios', SMBIOS],
] as const) {
  test(`the firmware’s tables as ${tool} prints them`, () => {
    assert.deepEqual(parseTables(output), {
      ...{ maker: 'Supermicro', product: 'SYS-5019', serial: 'S123456X', assetTag: null },
      board: { maker: 'Supermicro', product: 'X11SSH-F', serial: 'ZM17AS000000' },
      firmware: { maker: 'American Megatrends Inc.', version: '3.4', date: '05/17/2024' },
      processors: [{ socket: 'CPU1', model: 'Intel(R) Xeon(R) CPU E3-1230 v6 @ 3.50GHz', cores: 4, threads: 8 }],
      memory: [
        {
          ...{ slot: 'DIMMA1', bytes: 16 * 2 ** 30, kind: 'DDR4', megatransfers: 2400, maker: 'Samsung' },
          ...{ part: 'M391A2K43BB1-CTD', serial: '03A1B2C3' },
        },
        {
          ...{ slot: 'DIMMA2', bytes: null, kind: null, megatransfers: null, maker: null, part: null, serial: null },
        },
      ],
    });
  });
}

test('tables that say nothing', () => {
  const nothing = parseTables('# No SMBIOS nor DMI entry point found, sorry.\n');
  assert.deepEqual([nothing.maker, nothing.serial, nothing.processors, nothing.memory], [null, null, [], []]);
});
