import type { AuthRequest } from 'tandem-rpc';
import { userOf } from './domain/accounts.ts';

export const authenticate = ({ headers }: AuthRequest) => userOf(headers.authorization);
