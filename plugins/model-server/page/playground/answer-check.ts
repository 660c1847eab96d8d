import { Validator } from '@cfworker/json-schema'

/** Result of checking an answer against the schema that it had to follow. */
export interface AnswerCheck {
  readonly ok: boolean
  readonly text: string
}

/** Checks that an answer is JSON that is valid against a schema. */
export function checkAnswer(answer: string, schema: Readonly<Record<string, unknown>>): AnswerCheck {
  let value: unknown
  try {
    value = JSON.parse(answer)
  } catch (error) {
    return { ok: false, text: `The answer is not JSON: ${(error as Error).message}` }
  }
  try {
    const { valid, errors } = new Validator(schema, '2020-12', true).validate(value)
    if (valid) return { ok: true, text: 'Valid against the schema' }
    const last = errors.at(-1)
    return { ok: false, text: `Not valid at ${last?.instanceLocation ?? '#'}: ${last?.error ?? 'unknown reason'}` }
  } catch (error) {
    return { ok: false, text: `The schema cannot be checked: ${(error as Error).message}` }
  }
}
