import { TypeSystemPolicy } from '@sinclair/typebox/system';
import { type FormatCheck, formats, type Registry, type TypeCheck, types } from './registries.ts';

/** The parts of a TypeBox that a program writes to. */
export interface TypeBoxState {
  readonly FormatRegistry: Registry<FormatCheck>;
  readonly TypeRegistry: Registry<TypeCheck>;
  readonly TypeSystemPolicy: typeof TypeSystemPolicy;
}

/** The bundled TypeBox has the formats, custom types and settings of another from now on. */
export function shareStateOf({
  FormatRegistry,
  TypeRegistry,
  TypeSystemPolicy: theirs,
}: TypeBoxState) {
  formats.shareWith(FormatRegistry);
  types.shareWith(TypeRegistry);
  for (const name of settings) {
    Object.defineProperty(TypeSystemPolicy, name, {
      configurable: true,
      get: () => theirs[name],
      set: (value: never) => {
        theirs[name] = value;
      },
    });
  }
}

const settings = [
  'InstanceMode',
  'ExactOptionalPropertyTypes',
  'AllowArrayObject',
  'AllowNaN',
  'AllowNullVoid',
] as const;
