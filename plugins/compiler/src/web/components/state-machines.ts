import type { Hir, HirType } from '@svc/contracts'
import { type Doc, join, layout } from '../../doc/doc.ts'
import { block, enclosed } from '../../typescript/code.ts'
import type { EmittedFile } from '../../typescript/emitted-file.ts'
import { bind, type Emitter, newEmitter, within } from '../../typescript/emitter.ts'
import { operands } from '../../typescript/expressions.ts'
import { header } from '../../typescript/header.ts'
import { type Build, EmittedModule, MACHINES_MODULE } from '../../typescript/module.ts'
import { literal, pascalCase, propertyKey, valueName } from '../../typescript/names.ts'
import { Scope } from '../../typescript/scope.ts'
import { usedNames } from '../../typescript/used-names.ts'

/**
 * Generates `state_machines.ts`. For a machine `Order`, it contains the union `Order` of the states, with constructors,
 * the union `OrderEvent`, and `nextOrder`. `nextOrder` returns the state after an event, or null if the event has no
 * transition. null if there are no machines.
 */
export function stateMachinesFile(build: Build, source: string): EmittedFile | null {
  const { machines } = build.program.pages
  if (machines.length === 0) return null
  const file = new EmittedModule(build, { ownMachines: new Set(machines.map(({ name }) => name)) })
  const bodies = machines.map(machine => machineText(machine, file))
  const lines = file.imports.lines()
  const head = [header(source), ...(lines.length === 0 ? [] : [`${lines.join('\n')}\n`])]
  return { path: `${MACHINES_MODULE.slice(2)}.ts`, text: [...head, ...bodies].join('\n') }
}

function machineText(machine: Hir.Machine, file: EmittedModule): string {
  const { name, states, transitions } = machine
  const events = new Map<string, readonly Hir.MachineField[]>()
  for (const { event, fields } of transitions) {
    const known = events.get(event)
    if (known === undefined || fields.length > known.length) events.set(event, fields)
  }
  const stateCases = states.map(state => `  | ${recordType(state.name, state.fields, file)}`)
  const constructors = states.map(state => `  ${state.name}: ${constructorText(state, name, file)}`)
  const eventCases = [...events].map(([event, fields]) => `  | ${recordType(event, fields, file)}`)
  const terminal = states.filter(({ isTerminal }) => isTerminal).map(state => literal(state.name))
  const isTerminal = terminal.length === 0 ? 'false' : `[${terminal.join(', ')}].includes(state._tag)`
  const steps = [...transitions.map(each => transitionDoc(each, machine, file)), 'return null']
  return `export type ${name} =
${stateCases.join('\n')}

export const ${name} = {
${constructors.join(',\n')}
} as const

export type ${name}Event =${eventCases.length === 0 ? ' never' : `\n${eventCases.join('\n')}`}

/** Returns the state after an event; null if the event has no transition from this state. */
${layout([`export function next${pascalCase(name)}(state: ${name}, event: ${name}Event): ${name} | null `, block(steps)], 2)}

/** True for a final state. */
export function is${pascalCase(name)}Done(${terminal.length === 0 ? '_state' : 'state'}: ${name}): boolean {
  return ${isTerminal}
}
`
}

function recordType(tag: string, fields: readonly Hir.MachineField[], file: EmittedModule): string {
  const members = fields.map(({ name, annotation }) => `readonly ${propertyKey(name)}: ${typeText(annotation, file)}`)
  return `{ ${[`readonly _tag: ${literal(tag)}`, ...members].join('; ')} }`
}

function constructorText({ name, fields }: Hir.MachineState, machine: string, file: EmittedModule): string {
  const tag = `_tag: ${literal(name)}`
  if (fields.length === 0) return `{ ${tag} } satisfies ${machine}`
  const list = fields.map(field => `${valueName(field.name)}: ${typeText(field.annotation, file)}`)
  const entries = fields.map(field => `${field.name}: ${valueName(field.name)}`)
  return `(${list.join(', ')}): ${machine} => ({ ${[tag, ...entries].join(', ')} })`
}

function typeText(annotation: HirType | null, file: EmittedModule): string {
  return file.declaredType(annotation)
}

/** Returns the statement that returns the next state, if the event and the state are those of the transition. */
function transitionDoc(transition: Hir.Transition, machine: Hir.Machine, file: EmittedModule): Doc {
  const { event, from, locals, reads } = transition
  const values = valuesOf(transition, machine, file)
  const code = values.map(([, value]) => value)
  const e = newEmitter(file, locals, new Scope(null, ['state', 'event', ...usedNames(code, file.program)]))
  for (const { local, of, field } of reads) bind(e, local, { as: `${of}.${field}` })
  const body = within(e, () => returned(e, transition.target.name, values))
  const conditions = [...(from === null ? [] : [`state._tag === ${literal(from)}`]), `event._tag === ${literal(event)}`]
  const [only] = body
  return [`if (${conditions.join(' && ')}) `, body.length === 1 && only !== undefined ? only : block(body)]
}

type FieldValue = readonly [field: string, value: Hir.Expr]

/** Returns the fields of the next state with their values. Reports fields without one. */
function valuesOf(
  { target, values }: Hir.Transition,
  { states }: Hir.Machine,
  { program }: EmittedModule
): FieldValue[] {
  const fields = states.find(({ name }) => name === target.name)?.fields ?? []
  const missing = fields.filter((_, index) => values[index] === null).map(({ name }) => `\`${name}\``)
  if (missing.length > 0) {
    const advice = 'pass a value, or give a parameter of the event or a field of the state this name'
    program.report('web.machine.missing_value', `\`${target.name}\` needs ${missing.join(', ')}; ${advice}`, target)
  }
  return fields.flatMap(({ name }, index): FieldValue[] => {
    const value = values[index] ?? null
    return value === null ? [] : [[name, value]]
  })
}

function returned(e: Emitter, state: string, values: readonly FieldValue[]): void {
  const codes = operands(
    e,
    values.map(([, value]) => value)
  )
  const entries = [
    `_tag: ${literal(state)}`,
    ...values.map(([field], index): Doc => [`${propertyKey(field)}: `, codes[index]?.doc ?? ''])
  ]
  const isPlain = codes.every(({ isStable }) => isStable === true)
  e.out.push(['return ', isPlain ? ['{ ', join(', ', entries), ' }'] : enclosed('{', entries, '}', ' ')])
}
