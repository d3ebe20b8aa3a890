import ts from 'typescript-5.9';

/** What the texts of types need of the library of TypeScript: its own takes a second to read. */
const library = `
interface Array<T> { readonly length: number; [index: number]: T }
interface Boolean {} interface Function {} interface CallableFunction {} interface NewableFunction {}
interface IArguments {} interface Number {} interface Object {} interface RegExp {} interface String {}
type Record<Name extends string, T> = { [Each in Name]: T };
`;

/**
 * What the compiler says of each value that is not of its type, by one program for all of them.
 *
 * @param valuesOf JSON values by the text of their type. A recursive type refers to itself by one of `named`, which takes any value
 */
export function misfits(
  valuesOf: ReadonlyMap<string, readonly unknown[]>,
  named: readonly string[] = [],
): readonly string[] {
  const name = 'values.ts';
  const lines = named.map((one) => `type ${one} = any;`);
  const shown: string[] = [];
  for (const [type, values] of valuesOf) {
    const first = lines.length;
    lines.push(`type Type${first} = ${type};`);
    // JSON text is the text of the type that has this one value.
    for (const text of new Set(values.map((value) => JSON.stringify(value)))) {
      shown[lines.length] = `${text} is not of ${type}`;
      lines.push(
        `declare const v${lines.length}: ${text}; v${lines.length} satisfies Type${first};`,
      );
    }
  }
  const text = lines.join('\n');
  const file = ts.createSourceFile(name, `${library}${text}`, ts.ScriptTarget.ES2022);
  const before = library.split('\n').length - 1;
  const host: ts.CompilerHost = {
    getSourceFile: (given) => (given === name ? file : undefined),
    getDefaultLibFileName: () => '',
    getCurrentDirectory: () => '',
    getCanonicalFileName: (given) => given,
    getNewLine: () => '\n',
    useCaseSensitiveFileNames: () => true,
    fileExists: (given) => given === name,
    readFile: () => undefined,
    writeFile: () => undefined,
  };
  const program = ts.createProgram([name], { noLib: true, strict: true, types: [] }, host);
  const found = [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)];
  return found.map(({ start = 0, messageText }) => {
    const line = file.getLineAndCharacterOfPosition(start).line - before;
    const why = ts.flattenDiagnosticMessageText(messageText, ' ');
    return `${shown[line] ?? lines[line]}: ${why}`;
  });
}
