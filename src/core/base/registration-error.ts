/**
 * A mistake in the declaration of a procedure, found at its registration. The message says in one line where it is,
 * what is wrong and what to do, so that a starting service can print it without a stack.
 */
export class RegistrationError extends TypeError {
  override readonly name: string = 'RegistrationError';
}
