// A small picture as PNG (W3C PNG, third edition): indexed colours, one deflate stream, no library and no native code.
import { crc32, deflateSync } from 'node:zlib';

export type Colour = readonly [red: number, green: number, blue: number];

export class Picture {
  readonly width: number;
  readonly height: number;
  readonly #colours: readonly Colour[];
  readonly #pixels: Uint8Array;

  /** @param colours at most 256; the first one is the background */
  constructor(width: number, height: number, colours: readonly Colour[]) {
    this.width = width;
    this.height = height;
    this.#colours = colours;
    this.#pixels = new Uint8Array(width * height);
  }

  /** What lies outside is left out. */
  fill(x: number, y: number, width: number, height: number, colour: number): void {
    const [left, right] = [Math.max(0, Math.round(x)), Math.min(this.width, Math.round(x + width))];
    const [top, bottom] = [Math.max(0, Math.round(y)), Math.min(this.height, Math.round(y + height))];
    for (let row = top; row < bottom; row++)
      this.#pixels.fill(colour, row * this.width + left, row * this.width + right);
  }

  /** `thick` pixels wide and high at each point of it. */
  line(x1: number, y1: number, x2: number, y2: number, colour: number, thick: number): void {
    const steps = Math.max(1, Math.ceil(Math.max(Math.abs(x2 - x1), Math.abs(y2 - y1))));
    for (let n = 0; n <= steps; n++) {
      const [x, y] = [x1 + ((x2 - x1) * n) / steps, y1 + ((y2 - y1) * n) / steps];
      this.fill(x - thick / 2, y - thick / 2, thick, thick, colour);
    }
  }

  png(): Buffer {
    const header = Buffer.alloc(13);
    header.writeUInt32BE(this.width, 0);
    header.writeUInt32BE(this.height, 4);
    header.set([8, 3, 0, 0, 0], 8); // 8 bits, indexed, deflate, no interlacing
    // Each row begins with its filter: none.
    const rows = Buffer.alloc((this.width + 1) * this.height);
    for (let row = 0; row < this.height; row++) {
      rows.set(this.#pixels.subarray(row * this.width, (row + 1) * this.width), row * (this.width + 1) + 1);
    }
    return Buffer.concat([
      Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
      chunk('IHDR', header),
      chunk('PLTE', Buffer.from(this.#colours.flat())),
      chunk('IDAT', deflateSync(rows, { level: 9 })),
      chunk('IEND', Buffer.alloc(0)),
    ]);
  }
}

function chunk(type: string, data: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}
