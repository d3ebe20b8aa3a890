/** Texts whose UTF-8 differs from what V8 holds, or that V8 may hold in either way. */
export const texts: readonly string[] = [
  'é',
  'ü',
  'ÿ',
  // The first and the last of C1, and what is no character of C1 in Windows-1252.
  '\x80\x85\x9f',
  '¡¿',
  'plain',
  'Ā',
  '€',
  '𝄞',
  'é€',
  'é𝄞ÿ',
  `${'ascii '.repeat(50)}é`,
  `é${' ascii'.repeat(50)}`,
  'ÿ'.repeat(300),
];

/** One text in the ways in which V8 holds it: the native code of a server reads some of them apart. */
export function formsOf(text: string): Readonly<Record<string, string>> {
  const rope = text.slice(0, 1).concat(text.slice(1), ' '.repeat(20));
  const flattened = rope.concat('.');
  // Reading a character makes a rope one piece.
  flattened.charCodeAt(flattened.length - 2);
  return {
    'as it is': text,
    'a rope': rope,
    'a rope made flat': flattened,
    'a slice': `<${text}${'.'.repeat(20)}>`.slice(1, -1),
    'a slice of a text with wide characters': `€${text}${'.'.repeat(20)}€`.slice(1, -1),
    'from Latin-1': Buffer.from(text, 'latin1').toString('latin1'),
    'from UTF-8': Buffer.from(text).toString(),
    'from UTF-16': Buffer.from(text, 'utf16le').toString('utf16le'),
    parsed: JSON.parse(JSON.stringify(text)) as string,
  };
}
