import { type Diagnostic, diagnostic } from '../../diagnostics/diagnostic.ts'
import { lowerType } from '../../hir/lower-types.ts'
import type { MachineState, Param, StateMachine, Transition } from '../../syntax/ast.ts'
import type { Expression } from '../../syntax/ast-expressions.ts'
import type { EmittedFile } from '../../typescript/emitted-file.ts'
import { header } from '../../typescript/header.ts'
import { literal, pascalCase, propertyKey, valueName } from '../../typescript/names.ts'
import { TypeImports } from '../../typescript/types.ts'
import { itemsOf, type WebModule } from '../web-module.ts'

/**
 * Generates `state_machines.ts`. For a machine `Order`, it contains the union `Order` of the states, with constructors,
 * the union `OrderEvent`, and `nextOrder`. `nextOrder` returns the state after an event, or null if the event has no
 * transition.
 */
export function stateMachinesFile(web: WebModule): { file: EmittedFile | null; diagnostics: Diagnostic[] } {
  const machines = itemsOf(web.module, 'StateMachine')
  if (machines.length === 0) return { file: null, diagnostics: [] }
  const imports = new TypeImports()
  const printers = machines.map(machine => new MachinePrinter(web, machine, imports))
  const bodies = printers.map(printer => printer.print())
  const lines = imports.lines()
  const head = [header(web.name), ...(lines.length === 0 ? [] : [`${lines.join('\n')}\n`])]
  const file = { path: 'state_machines.ts', text: [...head, ...bodies].join('\n') }
  return { file, diagnostics: printers.flatMap(printer => printer.diagnostics) }
}

class MachinePrinter {
  readonly diagnostics: Diagnostic[] = []
  readonly #web: WebModule
  readonly #machine: StateMachine
  readonly #imports: TypeImports
  readonly #states: readonly MachineState[]
  readonly #transitions: readonly Transition[]

  constructor(web: WebModule, machine: StateMachine, imports: TypeImports) {
    this.#web = web
    this.#machine = machine
    this.#imports = imports
    this.#states = machine.items.filter(item => item.kind === 'MachineState')
    this.#transitions = machine.items.filter(item => item.kind === 'Transition')
  }

  print(): string {
    const name = this.#machine.name.text
    const events = new Map<string, readonly Param[]>()
    for (const { event, params } of this.#transitions) {
      const known = events.get(event.text)
      if (known === undefined || params.length > known.length) events.set(event.text, params)
    }
    const states = this.#states.map(state => `  | ${this.#record(state.name.text, state.params)}`)
    const constructors = this.#states.map(state => `  ${state.name.text}: ${this.#constructed(state)}`)
    const eventCases = [...events].map(([event, params]) => `  | ${this.#record(event, params)}`)
    const terminal = this.#states.filter(({ isTerminal }) => isTerminal).map(state => literal(state.name.text))
    const isTerminal = terminal.length === 0 ? 'false' : `[${terminal.join(', ')}].includes(state._tag)`
    return `export type ${name} =
${states.join('\n')}

export const ${name} = {
${constructors.join(',\n')}
} as const

export type ${name}Event =${eventCases.length === 0 ? ' never' : `\n${eventCases.join('\n')}`}

/** Returns the state after an event; null if the event has no transition from this state. */
export function next${pascalCase(name)}(state: ${name}, event: ${name}Event): ${name} | null {
${this.#transitions.map(each => this.#transition(each)).join('')}  return null
}

/** True for a final state. */
export function is${pascalCase(name)}Done(${terminal.length === 0 ? '_state' : 'state'}: ${name}): boolean {
  return ${isTerminal}
}
`
  }

  #record(tag: string, params: readonly Param[]): string {
    const members = params.map(({ name, type }) => {
      return `readonly ${propertyKey(name.text)}: ${this.#type(type)}`
    })
    return `{ ${[`readonly _tag: ${literal(tag)}`, ...members].join('; ')} }`
  }

  #constructed({ name, params }: MachineState): string {
    const machine = this.#machine.name.text
    const tag = `_tag: ${literal(name.text)}`
    if (params.length === 0) return `{ ${tag} } satisfies ${machine}`
    const list = params.map(param => `${valueName(param.name.text)}: ${this.#type(param.type)}`)
    const entries = params.map(param => `${param.name.text}: ${valueName(param.name.text)}`)
    return `(${list.join(', ')}): ${machine} => ({ ${[tag, ...entries].join(', ')} })`
  }

  #transition(transition: Transition): string {
    const { event, from, fromArgs, target, params } = transition
    const isAny = from.text === 'any' || from.text === '_'
    const source = isAny ? undefined : this.#state(from.text)
    const goal = this.#state(target.text)
    if ((!isAny && source === undefined) || goal === undefined) return ''
    const names = new Map(params.map(param => [param.name.text, `event.${param.name.text}`]))
    for (const [index, bound] of (fromArgs ?? []).entries()) {
      const field = source?.params[index]
      if (bound.kind === 'Identifier' && field !== undefined) names.set(bound.name, `state.${field.name.text}`)
    }
    const values = goal.params.map((param, index) => {
      const argument = transition.targetArgs?.[index]
      const value = argument === undefined ? names.get(param.name.text) : this.#value(argument, names)
      if (value === undefined) this.#report(`\`${target.text}\` needs \`${param.name.text}\``, argument ?? target)
      return `${propertyKey(param.name.text)}: ${value ?? 'undefined'}`
    })
    const condition = [
      ...(isAny ? [] : [`state._tag === ${literal(from.text)}`]),
      `event._tag === ${literal(event.text)}`
    ]
    const result = `{ ${[`_tag: ${literal(target.text)}`, ...values].join(', ')} }`
    return `  if (${condition.join(' && ')}) return ${result}\n`
  }

  #state(name: string): MachineState | undefined {
    return this.#states.find(state => state.name.text === name)
  }

  /** Returns the code of a bound name or a literal; undefined for other expressions. */
  #value(expression: Expression, names: ReadonlyMap<string, string>): string | undefined {
    switch (expression.kind) {
      case 'Identifier':
        return names.get(expression.name)
      case 'String':
        return literal(expression.value)
      case 'Int':
      case 'Float':
        return expression.digits
      case 'Bool':
        return String(expression.value)
      default:
        return undefined
    }
  }

  #type(type: Param['type']): string {
    return this.#web.types.print(type === null ? null : lowerType(type), this.#imports)
  }

  #report(message: string, at: Expression | Transition['target']): void {
    const suggestions = ['pass a literal, or a parameter of the event or of the source state']
    this.diagnostics.push(diagnostic('web.machine.missing_value', message, at, { suggestions }))
  }
}
