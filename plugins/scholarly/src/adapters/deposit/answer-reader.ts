import { RemoteFailure } from '@svc/contracts'

const MAX_PROBLEM_CHARS = 120

/** Reads parts of JSON answers of an archive. Throws `RemoteFailure` with code `answer_invalid` for another form. */
export class AnswerReader {
  readonly #service: string

  constructor(service: string) {
    this.#service = service
  }

  record(value: unknown): Readonly<Record<string, unknown>> {
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
    throw this.invalid('an object')
  }

  /** Returns a text that is not empty. */
  text(value: unknown): string {
    if (typeof value === 'string' && value !== '') return value
    throw this.invalid('a text')
  }

  /** Returns the failure for an answer of another form. The request may have had its effect. */
  invalid(expected: string): RemoteFailure {
    return new RemoteFailure(`${this.#service}: the answer is not ${expected}; check the base address`, {
      failureClass: 'fatal',
      code: 'answer_invalid',
      outcomeUnknown: true
    })
  }
}

/** Returns a text that is not empty, or null. */
export function optionalText(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}

/** Returns a text of an answer on one line for a message, without the token that a server may repeat. */
export function printable(problem: string, token: string): string {
  return problem
    .replaceAll(token, '***')
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .slice(0, MAX_PROBLEM_CHARS)
}
