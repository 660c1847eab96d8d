import type { Hir, HirActor, HirAgent, HirType } from '@svc/contracts'
import type { ActorDefinition, ActorTurn } from '../../actors/actor-runtime.ts'
import { Decimal } from '../decimal.ts'
import { fail } from '../failure.ts'
import type { Eval, Machine } from '../machine.ts'
import { Float, NONE, Tuple, type Value } from '../value.ts'
import type { BodyCompiler } from './body-compiler.ts'
import { isResultType } from './durable.ts'
import { assertArity, compileFunction, enter, type FunctionUnit, unitOf } from './functions.ts'
import { HandlerState } from './state.ts'

/** Returns a compiler of a body. */
type NewBody = (code: Hir.Body) => BodyCompiler

/** Compiles an actor or an agent. Its handlers read and write the fields of the running turn. */
export function compileActor(machine: Machine, newBody: NewBody, actor: HirActor | HirAgent): ActorDefinition {
  const { name, handlers, code, span } = actor
  const migrations = 'migrations' in actor ? actor.migrations : []
  const params = unitOf(name, code, span.start).params
  const handler = (event: string, of: Hir.Body, at: number): FunctionUnit => {
    const unit = unitOf(`${name}.${event}`, of, at)
    const stateful = compileStateful(newBody(of), unit, of, () => {
      const { args, fields: state } = turnOf(machine)
      return new HandlerState(state, new Map(params.map((param, index) => [param, args[index] ?? null])))
    })
    // Defaults are evaluated before the body, with the same state.
    unit.defaults = unit.defaults.map(value => value && stateful(value))
    return unit
  }
  const call = (unit: FunctionUnit, args: readonly (Value | undefined)[]): Value => {
    assertArity(unit, args, unit.at)
    return enter(machine, unit, args)
  }
  return {
    name,
    version: 'version' in actor ? actor.version : null,
    begin: compileInitialState(machine, newBody(code), actor),
    handlers: new Map(
      handlers.map(({ event_name, code: of, span: { start }, return_type }) => {
        const unit = handler(event_name, of, start)
        const isResult = return_type !== null && isResultType(return_type)
        return [event_name, { isResult, params: unit.params, run: args => call(unit, args), check: unit.check }]
      })
    ),
    migrations: new Map(
      migrations.map(({ from_version, code: of, span: { start } }) => {
        const unit = handler(`migrate from ${from_version}`, of, start)
        return [from_version, () => void call(unit, [])]
      })
    )
  }
}

function turnOf({ actors }: Machine): ActorTurn {
  return actors?.turn ?? fail('RUN_UNSUPPORTED', 'a handler runs only inside its actor')
}

/**
 * Compiles code that reads and writes the state of an actor. `begin` returns the state of a call. Returns the form of
 * other code in the same frame that runs with this state, also before the body.
 */
function compileStateful(
  body: BodyCompiler,
  unit: FunctionUnit,
  code: Hir.Body,
  begin: () => HandlerState
): (run: Eval) => Eval {
  const { frame } = body
  compileFunction(body, unit, code, () => body.statements(code.block))
  if (!frame.usesState) return run => run
  const { stateSlot } = frame
  const stateful = (run: Eval): Eval => {
    return own => {
      own[stateSlot] ??= begin() as unknown as Value
      return run(own)
    }
  }
  unit.run = stateful(unit.run)
  return stateful
}

/** Compiles the initial values of the fields. Each may use earlier fields and the arguments of `spawn`. */
function compileInitialState(
  machine: Machine,
  body: BodyCompiler,
  { name, state_fields: fields = [], code, span }: HirActor | HirAgent
): ActorDefinition['begin'] {
  const unit = unitOf(name, code, span.start)
  let state = new HandlerState(new Map(), new Map())
  compileStateful(body, unit, code, () => state)
  const { run } = unit
  unit.run = own => {
    const args = own.slice(0, unit.params.length)
    const initial = new HandlerState(new Map(fields.map(field => [field.name, zeroValue(field.type_ann)])), new Map())
    state = initial
    run(own)
    return new Tuple([args, initial.fields])
  }
  return args => {
    assertArity(unit, args, unit.at)
    const [complete, initial] = (enter(machine, unit, args) as Tuple).items
    return { args: complete as readonly Value[], fields: initial as Map<string, Value> }
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
