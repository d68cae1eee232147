// A chart as a file: the picture as it is on the screen, or its numbers.
export function download(content: Blob, name: string): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // The browser has taken it by the next turn of its loop.
  setTimeout(() => URL.revokeObjectURL(url), 1_000);
}

export function fileName(title: string, ending: string): string {
  const plain = title
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');
  return `${plain.slice(0, 80) || 'chart'}.${ending}`;
}

/** RFC 4180; a text that a spreadsheet would take for a formula is made a text. */
export function csv(rows: readonly (readonly (string | number)[])[]): string {
  const cell = (value: string | number) => {
    if (typeof value === 'number') return Number.isFinite(value) ? String(value) : '';
    const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return `${rows.map((row) => row.map(cell).join(',')).join('\r\n')}\r\n`;
}

/** What a chart hands out to the menu above it. */
export interface Exporter {
  png(): void;
  csv(): void;
}

export interface LegendEntry {
  readonly text: string;
  readonly colour: string;
}

/** The canvas with its title above, its legend below, and the page's background behind. */
export function picture(canvas: HTMLCanvasElement, title: string, legend: readonly LegendEntry[], dark: boolean) {
  // One that is not in the page has a pixel for a pixel.
  const ratio = canvas.width / (canvas.clientWidth || canvas.width);
  const width = canvas.width / ratio;
  const height = canvas.height / ratio;
  const ink = dark ? '#f2f2f2' : '#151515';
  const made = document.createElement('canvas');
  const measure = made.getContext('2d') as CanvasRenderingContext2D;
  measure.font = '12px RedHatText, sans-serif';
  const places: { x: number; y: number; entry: LegendEntry }[] = [];
  let [x, y] = [12, 0];
  for (const entry of legend.slice(0, 40)) {
    const wide = measure.measureText(entry.text).width + 34;
    if (x + wide > width && x > 12) [x, y] = [12, y + 18];
    places.push({ x, y, entry });
    x += wide;
  }
  const below = places.length > 0 ? y + 30 : 8;
  made.width = canvas.width;
  made.height = Math.round((height + 34 + below) * ratio);
  const context = made.getContext('2d') as CanvasRenderingContext2D;
  context.scale(ratio, ratio);
  context.fillStyle = dark ? '#151515' : '#ffffff';
  context.fillRect(0, 0, width, height + 34 + below);
  context.fillStyle = ink;
  context.font = '600 15px RedHatText, sans-serif';
  context.fillText(title, 12, 23, width - 24);
  context.drawImage(canvas, 0, 34, width, height);
  context.font = '12px RedHatText, sans-serif';
  for (const { x: left, y: top, entry } of places) {
    context.fillStyle = entry.colour;
    context.fillRect(left, height + 40 + top, 10, 10);
    context.fillStyle = ink;
    context.fillText(entry.text, left + 15, height + 49 + top);
  }
  return new Promise<Blob>((resolve, reject) =>
    made.toBlob((blob) => (blob ? resolve(blob) : reject(new Error('the picture could not be made'))), 'image/png'),
  );
}
