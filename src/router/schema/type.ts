import { type JavaScriptTypeBuilder, Type as TypeBox } from '@sinclair/typebox';
import { type Base64Options, base64, type TBase64 } from './bytes.ts';

/** TypeBox's own `Type`, and with it the types that only procedures have. */
export interface TypeBuilder extends JavaScriptTypeBuilder {
  /** Bytes: base64 text in JSON, a Uint8Array for the handler. */
  Base64(options?: Base64Options): TBase64;
}

export const Type: TypeBuilder = Object.assign(Object.create(TypeBox) as JavaScriptTypeBuilder, {
  Base64: base64,
});
