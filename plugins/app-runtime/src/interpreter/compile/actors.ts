import type { HirActor, HirAgent, HirBlock, HirParam, HirStateField, HirType } from '@svc/contracts'
import type { ActorDefinition } from '../../actors/actor-runtime.ts'
import { Decimal } from '../decimal.ts'
import { fail } from '../failure.ts'
import type { CallFrame, Eval, Machine } from '../machine.ts'
import { Float, NONE, Tuple, type Value } from '../value.ts'
import { BodyCompiler, bindLocal, readLocal } from './body-compiler.ts'
import { sequence } from './control.ts'
import { isResultType } from './durable.ts'
import { FORMS } from './expressions.ts'
import { callableOf, compileFunction, enter, type FunctionUnit } from './functions.ts'
import type { ProgramNames } from './program-names.ts'
import { type Local, VariableUses } from './scope.ts'

interface Stateful {
  readonly name: string
  readonly params: readonly HirParam[]
  readonly fields: readonly HirStateField[]
}

/**
 * Compiles an actor or an agent. Its fields are variables of its handlers, loaded before and stored after each call.
 */
export function compileActor(machine: Machine, names: ProgramNames, actor: HirActor | HirAgent): ActorDefinition {
  const { name, handlers, state_fields: fields = [] } = actor
  const params = 'params' in actor ? (actor.params ?? []) : []
  const migrations = 'migrations' in actor ? actor.migrations : []
  const own = { name, params, fields }
  const handler = (event: string, handlerParams: readonly HirParam[], body: HirBlock, at: number): FunctionUnit => {
    const unit = unitOf(`${name}.${event}`, handlerParams, at)
    compileTwice(machine, names, compiler => {
      compileFunction(compiler, unit, handlerParams, () =>
        withFields(compiler, own, handlerParams, () => sequence(compiler, body))
      )
    })
    return unit
  }
  const call = (unit: FunctionUnit, args: readonly (Value | undefined)[]): Value => {
    const [takes, got] = [unit.params.length, args.length]
    if (got <= takes) return enter(machine, unit, args)
    return fail(
      'RUN_ARGUMENTS',
      `${unit.name} takes ${takes} ${takes === 1 ? 'argument' : 'arguments'}, got ${got}`,
      unit.at
    )
  }
  return {
    name,
    version: 'version' in actor ? actor.version : null,
    begin: compileInitialState(machine, names, own, actor.span.start),
    handlers: new Map(
      handlers.map(({ event_name, params: handlerParams, body, span, return_type }) => {
        const unit = handler(event_name, handlerParams, body, span.start)
        const isResult = return_type !== null && isResultType(return_type)
        return [event_name, { isResult, params: unit.params, run: args => call(unit, args) }]
      })
    ),
    migrations: new Map(
      migrations.map(({ from_version, body, span }) => {
        const unit = handler(`migrate from ${from_version}`, [], body, span.start)
        return [from_version, () => void call(unit, [])]
      })
    )
  }
}

function unitOf(name: string, params: readonly HirParam[], at: number): FunctionUnit {
  return { name, params: params.map(param => param.name), at, defaults: [], size: 0, run: () => null }
}

/** Compiles a second time if a closure captures a variable: captures are known only after the first pass. */
function compileTwice(machine: Machine, names: ProgramNames, compile: (body: BodyCompiler) => void): void {
  const uses = new VariableUses()
  compile(new BodyCompiler(machine, names, FORMS, uses))
  if (uses.needsSecondPass) compile(new BodyCompiler(machine, names, FORMS, uses))
}

/** Compiles the initial values of the fields. Each may use earlier fields and the arguments of `spawn`. */
function compileInitialState(
  machine: Machine,
  names: ProgramNames,
  { name, params, fields }: Stateful,
  at: number
): ActorDefinition['begin'] {
  const unit = unitOf(name, params, at)
  compileTwice(machine, names, body => {
    compileFunction(body, unit, params, () => {
      const initialFields = fields.map(field => {
        const value = field.default === undefined ? () => zeroValue(field.type_ann) : body.value(field.default)
        return { name: field.name, value, bind: bindLocal(body.scope.declare(field.name, field, true)) }
      })
      return frame => {
        const state = new Map<string, Value>()
        for (const { name: field, value, bind } of initialFields) {
          const first = value(frame)
          bind(frame, first)
          state.set(field, first)
        }
        return new Tuple([frame.slice(0, params.length), state])
      }
    })
  })
  return handlerParams => {
    const [args, initialFields] = (callableOf(machine, unit).call([...handlerParams], at) as Tuple).items
    return { args: args as readonly Value[], fields: new Map(initialFields as ReadonlyMap<string, Value>) }
  }
}

/** Declares the fields and `spawn` parameters as variables, except those shadowed by a handler parameter. */
function withFields(
  body: BodyCompiler,
  { params, fields }: Stateful,
  handlerParams: readonly HirParam[],
  compile: () => Eval
): Eval {
  const { machine, scope } = body
  const isHidden = (name: string): boolean => handlerParams.some(param => param.name === name)
  const spawned = params.flatMap((param, index) => {
    return isHidden(param.name) ? [] : [{ index, bind: bindLocal(scope.declare(param.name, param)) }]
  })
  const variables = fields.flatMap(field => {
    if (isHidden(field.name)) return []
    const local: Local = scope.declare(field.name, field, true)
    return [{ name: field.name, bind: bindLocal(local), read: readLocal(local) }]
  })
  const run = body.catchJumps(compile)
  return (frame: CallFrame) => {
    const turn = machine.actors?.turn ?? fail('RUN_UNSUPPORTED', 'a handler runs only inside its actor')
    for (const { index, bind } of spawned) bind(frame, turn.args[index] ?? null)
    for (const { name, bind } of variables) bind(frame, turn.fields.get(name) ?? null)
    const value = run(frame)
    for (const { name, read } of variables) turn.fields.set(name, read(frame))
    return value
  }
}

/** Returns the value of a field without a default. */
function zeroValue(type: HirType | null): Value {
  if (type === 'Decimal') return new Decimal(0n, 0)
  if (type === null || type === 'Unit') return null
  if ('Tuple' in type) return new Tuple(type.Tuple.map(zeroValue))
  const name = 'Named' in type ? type.Named : 'Generic' in type ? type.Generic[0] : ''
  switch (name) {
    case 'int':
      return 0
    case 'float':
      return new Float(0)
    case 'str':
      return ''
    case 'bool':
      return false
    case 'Option':
      return NONE
    case 'List':
    case 'list':
      return []
    case 'Map':
    case 'map':
      return new Map()
    default:
      return null
  }
}
