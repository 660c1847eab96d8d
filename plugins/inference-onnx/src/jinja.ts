import { Environment, Interpreter, Template } from '@huggingface/jinja'
import { strftime } from './strftime.ts'

/** Maximum length of a range, as in the sandbox of Python's Jinja. */
const MAX_RANGE_LENGTH = 100_000
/** Number of characters that count as one step. */
const CHARACTERS_PER_STEP = 1024

interface RuntimeValue {
  readonly value: unknown
}

/** Interpreter class of the package. Declared here, because this compiler cannot resolve the imports of its types. */
declare class Evaluator {
  constructor(environment: unknown)
  evaluate(node: unknown, environment: unknown): RuntimeValue
  run(program: unknown): RuntimeValue
}
const BaseInterpreter = Interpreter as unknown as typeof Evaluator

/** Jinja template, with the globals that transformers defines for chat templates. */
export class JinjaTemplate {
  readonly #template: Template

  /** Throws the parser's error if the source is not a template. */
  constructor(source: string) {
    this.#template = new Template(source)
  }

  /**
   * Renders the template. Throws if the template raises an error, uses an unknown name or filter, or exceeds
   * `maxSteps`.
   */
  render(variables: Readonly<Record<string, unknown>>, now: Date, maxSteps = Number.POSITIVE_INFINITY): string {
    // Template.render of the package would use the current date in the machine's locale.
    const environment = new Environment()
    for (const [name, value] of Object.entries({ ...globals, ...variables })) environment.set(name, value)
    environment.set('strftime_now', (format: string) => strftime(format, now))
    return `${new MeteredInterpreter(environment, maxSteps).run(this.#template.parsed).value}`
  }
}

/** Counts evaluated nodes and result sizes, and throws above `maxSteps`. */
class MeteredInterpreter extends BaseInterpreter {
  readonly #maxSteps: number
  /** Total size of each list and object, including nested ones: `tojson` prints all of it. */
  readonly #sizes = new WeakMap<object, number>()
  #steps = 0

  constructor(environment: unknown, maxSteps: number) {
    super(environment)
    this.#maxSteps = maxSteps
  }

  override evaluate(node: unknown, environment: unknown): RuntimeValue {
    const result = super.evaluate(node, environment)
    if (this.#maxSteps === Number.POSITIVE_INFINITY) return result
    this.#steps += 1 + this.#sizeOf(result)
    if (this.#steps > this.#maxSteps) throw new Error(`it takes more than ${this.#maxSteps} steps`)
    return result
  }

  #sizeOf({ value }: RuntimeValue): number {
    if (typeof value === 'string') return Math.floor(value.length / CHARACTERS_PER_STEP)
    if (!Array.isArray(value) && !(value instanceof Map)) return 0
    const known = this.#sizes.get(value)
    if (known !== undefined) return known
    // A namespace may contain itself.
    this.#sizes.set(value, value instanceof Map ? value.size : value.length)
    let size = 0
    for (const inner of value.values()) size += 1 + this.#sizeOf(inner as RuntimeValue)
    this.#sizes.set(value, size)
    return size
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
  if (!(length <= MAX_RANGE_LENGTH)) throw new Error(`range() of more than ${MAX_RANGE_LENGTH} numbers, or with step 0`)
  return Array.from({ length }, (_, index) => start + index * step)
}
