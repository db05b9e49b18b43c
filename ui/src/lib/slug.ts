// Ids that people can read, from names in any script.
export function slug(name: string): string {
  const plain = name
    .normalize('NFKD')
    .replace(/[^A-Za-z0-9_.-]+/g, '-')
    .replace(/^-+|-+$/g, '');
  return plain.slice(0, 100) || 'book';
}
