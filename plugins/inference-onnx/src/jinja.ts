import { Environment, Interpreter, Template } from '@huggingface/jinja'
import { strftime } from './strftime.ts'

/** What a sandbox of Python's Jinja allows. */
const LONGEST_RANGE = 100_000

/** A template, with the names that transformers offers to chat templates. */
export class JinjaTemplate {
  readonly #template: Template

  /** Throws the parser's own error when the source is not a template. */
  constructor(source: string) {
    this.#template = new Template(source)
  }

  /** Throws what the template raises, and an error for what it uses that is not known. */
  render(variables: Readonly<Record<string, unknown>>, now: Date): string {
    // Not the template's own `render`: its date is the present, in the machine's language, and cannot be replaced.
    const environment = new Environment()
    for (const [name, value] of Object.entries({ ...globals, ...variables })) environment.set(name, value)
    environment.set('strftime_now', (format: string) => strftime(format, now))
    return `${(new Interpreter(environment).run(this.#template.parsed) as { value: unknown }).value}`
  }
}

const globals = {
  false: false,
  true: true,
  none: null,
  False: false,
  True: true,
  None: null,
  range,
  raise_exception(message: string): never {
    throw new Error(message)
  }
}

function range(first: number, second?: number, step = 1): number[] {
  const [start, stop] = second === undefined ? [0, first] : [first, second]
  const length = step === 0 ? Number.NaN : Math.max(Math.ceil((stop - start) / step), 0)
  if (!(length <= LONGEST_RANGE)) throw new Error(`range() of more than ${LONGEST_RANGE} numbers, or with step 0`)
  return Array.from({ length }, (_, index) => start + index * step)
}
