import { call, checkLength, failure, fieldOf, isMap, isTrue, LAZY, shown, type Value } from './functions.ts'
import type { Block, Node, Operand, Pipe } from './nodes.ts'

/** Evaluated nodes and operands. The longest public template needs about 40 for each message. */
const MAX_STEPS = 500_000
/** Characters or elements that count as one step. */
const SIZE_OF_STEP = 1_024
/** Characters of a text of values, such as JSON, that count as one step. */
const WRITTEN_IN_STEP = 32
const WRITING: ReadonlySet<string> = new Set(['json', 'print', 'printf', 'println'])

/** Limit on the work and the text of all rounds of a conversation. */
export class RenderBudget {
  #steps = 0
  #characters = 0

  spend(steps: number): void {
    this.#steps += steps
    if (this.#steps > MAX_STEPS) throw failure(`it needs more than ${MAX_STEPS} steps, the limit`)
  }

  write(characters: number): void {
    this.#characters += characters
    checkLength(this.#characters)
  }
}

export interface RenderOptions {
  /** End the text after `.Response`, where the answer begins. */
  readonly untilResponse: boolean
  readonly budget: RenderBudget
}

/** Renders a template. Throws `MSV_REQUEST_INVALID` if it fails or exceeds a limit. */
export function render(nodes: readonly Node[], data: Readonly<Record<string, Value>>, options: RenderOptions): string {
  const run = new Run(options)
  run.nodes(nodes, data, new Scope(new Map([['$', data]])))
  return run.text
}

type Flow = 'next' | 'break' | 'continue' | 'end'

class Scope {
  readonly #values: Map<string, Value>
  readonly #outer: Scope | undefined

  constructor(values = new Map<string, Value>(), outer?: Scope) {
    this.#values = values
    this.#outer = outer
  }

  inner(): Scope {
    return new Scope(new Map(), this)
  }

  get(name: string): Value {
    if (this.#values.has(name)) return this.#values.get(name)
    if (this.#outer === undefined) throw failure(`there is no variable ${name}`)
    return this.#outer.get(name)
  }

  declare(name: string, value: Value): void {
    this.#values.set(name, value)
  }

  assign(name: string, value: Value): void {
    if (this.#values.has(name)) this.#values.set(name, value)
    else if (this.#outer === undefined) throw failure(`there is no variable ${name}`)
    else this.#outer.assign(name, value)
  }
}

class Run {
  readonly #untilResponse: boolean
  readonly #budget: RenderBudget
  readonly #pieces: string[] = []

  constructor({ untilResponse, budget }: RenderOptions) {
    this.#untilResponse = untilResponse
    this.#budget = budget
  }

  get text(): string {
    return this.#pieces.join('')
  }

  nodes(nodes: readonly Node[], dot: Value, scope: Scope): Flow {
    for (const node of nodes) {
      this.#step()
      // toestub-ignore(stringly-typed-enum) - the type is a union of these texts
      if (node.kind === 'text') this.#write(node.text)
      else if (node.kind === 'break' || node.kind === 'continue') return node.kind
      else if (node.kind === 'print') {
        const value = this.#pipe(node.pipe, dot, scope)
        if (node.pipe.names.length === 0) this.#write(shown(value))
        if (this.#untilResponse && isResponse(node.pipe)) return 'end'
      } else {
        const flow = node.kind === 'range' ? this.#range(node, dot, scope) : this.#condition(node, dot, scope)
        if (flow !== 'next') return flow
      }
    }
    return 'next'
  }

  #condition({ kind, pipe, yes, no }: Block, dot: Value, scope: Scope): Flow {
    const inner = scope.inner()
    const value = this.#pipe(pipe, dot, inner)
    if (!isTrue(value)) return this.nodes(no, dot, inner)
    return this.nodes(yes, kind === 'with' ? value : dot, inner)
  }

  #range({ pipe, yes, no }: Block, dot: Value, scope: Scope): Flow {
    const value = this.#evaluate(pipe, dot, scope)
    const list: readonly Value[] | null = Array.isArray(value) ? value : null
    const keys = isMap(value) ? this.#keysOf(value) : null
    const count = list?.length ?? keys?.length ?? 0
    if (count === 0) return this.nodes(no, dot, scope.inner())
    const [first, second] = pipe.names
    for (let at = 0; at < count; at++) {
      this.#step()
      const key = keys?.[at] ?? at
      const element = (value as Record<string | number, Value>)[key]
      const inner = scope.inner()
      const set = (name: string, each: Value): void =>
        pipe.declares ? inner.declare(name, each) : scope.assign(name, each)
      if (second !== undefined) set(second, element)
      if (first !== undefined) set(first, second === undefined ? element : key)
      const flow = this.nodes(yes, element, inner)
      if (flow === 'end') return flow
      if (flow === 'break') break
    }
    return 'next'
  }

  /** Returns the keys of a map in order, as in Go. */
  #keysOf(map: Readonly<Record<string, Value>>): readonly string[] {
    const keys = Object.keys(map)
    this.#step(keys.length)
    return keys.sort()
  }

  /** Evaluates a pipe, and assigns its variable. */
  #pipe(pipe: Pipe, dot: Value, scope: Scope): Value {
    const value = this.#evaluate(pipe, dot, scope)
    const [name] = pipe.names
    if (name !== undefined && pipe.declares) scope.declare(name, value)
    else if (name !== undefined) scope.assign(name, value)
    return value
  }

  #evaluate({ commands }: Pipe, dot: Value, scope: Scope): Value {
    let passed: readonly Value[] = []
    for (const command of commands) passed = [this.#command(command, passed, dot, scope)]
    return passed[0]
  }

  #command([first, ...rest]: readonly Operand[], passed: readonly Value[], dot: Value, scope: Scope): Value {
    const operand = first as Operand
    if (operand.kind !== 'function') {
      if (passed.length > 0) throw failure('a value cannot be piped into another value')
      return this.#operand(operand, dot, scope)
    }
    const { name } = operand
    if (!LAZY.has(name)) return this.#call(name, [...rest.map(each => this.#operand(each, dot, scope)), ...passed])
    let value: Value
    for (const each of rest) {
      value = this.#operand(each, dot, scope)
      if (isTrue(value) === (name === 'or')) return value
    }
    return passed.length > 0 ? passed[0] : value
  }

  #operand(operand: Operand, dot: Value, scope: Scope): Value {
    this.#step()
    if (operand.kind === 'value') return operand.value
    if (operand.kind === 'function') return this.#call(operand.name, [])
    const from =
      operand.kind === 'dot'
        ? dot
        : operand.kind === 'variable'
          ? scope.get(operand.name)
          : this.#evaluate(operand.pipe, dot, scope)
    this.#step(operand.path.length)
    return operand.path.reduce(fieldOf, from)
  }

  /** Calls a function. Long texts and lists count as several steps. */
  #call(name: string, values: readonly Value[]): Value {
    const result = call(name, values)
    const size = [...values, result].reduce<number>((sum, value) => sum + sizeOf(value), 0)
    this.#step(Math.floor(size / SIZE_OF_STEP))
    if (WRITING.has(name)) this.#step(Math.floor(sizeOf(result) / WRITTEN_IN_STEP))
    // To count keys takes as long as to list them.
    if (name === 'len' && isMap(values[0])) this.#step(Number(result))
    checkLength(sizeOf(result))
    return result
  }

  #step(count = 1): void {
    this.#budget.spend(count)
  }

  #write(text: string): void {
    this.#budget.write(text.length)
    this.#pieces.push(text)
  }
}

function isResponse({ commands: [command] }: Pipe): boolean {
  const [operand] = command ?? []
  return (operand?.kind === 'dot' || operand?.kind === 'variable') && operand.path.at(-1) === 'Response'
}

function sizeOf(value: Value): number {
  return typeof value === 'string' || Array.isArray(value) ? value.length : 0
}
