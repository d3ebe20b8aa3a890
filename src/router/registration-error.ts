/**
 * A mistake in how a procedure was declared, found when it is registered. The message says where, what was
 * wrong and what to do, in one line, so that a start-up can print it without a stack.
 */
export class RegistrationError extends TypeError {
  override readonly name: string = 'RegistrationError';
}
