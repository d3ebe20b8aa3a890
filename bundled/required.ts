/** `require('tandem-rpc')`, which can't wait: it loads all of the program's TypeBox. */
import { FormatRegistry, TypeRegistry } from '@sinclair/typebox';
import { TypeSystemPolicy } from '@sinclair/typebox/system';
import { shareStateOf } from './share-state.ts';

shareStateOf({ FormatRegistry, TypeRegistry, TypeSystemPolicy });

export * from '../src/index.ts';
