// Pictures that people choose: drawn anew as PNG, so that only what can be seen is sent.

/** The longest side of a portrait. */
const LONGEST = 1024;

export async function asPng(file: File): Promise<Blob> {
  const picture = await createImageBitmap(file);
  const scale = Math.min(1, LONGEST / Math.max(picture.width, picture.height));
  const width = Math.max(1, Math.round(picture.width * scale));
  const height = Math.max(1, Math.round(picture.height * scale));
  const canvas = new OffscreenCanvas(width, height);
  canvas.getContext('2d')?.drawImage(picture, 0, 0, width, height);
  const png = await canvas.convertToBlob({ type: 'image/png' });
  return new Blob([png], { type: 'application/octet-stream' });
}
