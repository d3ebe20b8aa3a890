import { type ComponentChildren, type ComponentType, createContext } from 'preact';
import type { Draft } from '../schema/draft.ts';
import type { Placed } from '../schema/resolve.ts';
import type { Faults } from '../schema/validate.ts';

/** What is wrong with the params, by JSON Pointer. */
export const FaultsOfForm = createContext<Faults>(new Map());

export interface FieldProps {
  readonly label: string;
  /** JSON Pointer of the value. */
  readonly path: string;
  readonly placed: Placed;
  readonly value: Draft;
  readonly isRequired: boolean;
  readonly onChange: (value: Draft) => void;
  /** Beside the label: what removes an item, say. */
  readonly extra?: ComponentChildren;
}

/** The id of the control for a value: what an error is about is focused by it. */
export function fieldId(path: string): string {
  return `field-${path.replaceAll(/[^\w-]/g, (c) => `_${c.charCodeAt(0).toString(16)}_`)}`;
}

/** What holds values of other schemas is given the field for them: fields hold one another. */
export interface HoldsFields {
  readonly Field: ComponentType<FieldProps>;
}
