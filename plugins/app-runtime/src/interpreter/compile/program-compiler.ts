import type { AuthRule, Hir, HirNamedField, HirSpan, HirType, Program } from '@svc/contracts'
import { ProgramTables } from '../../database/program-tables.ts'
import type { Codec } from '../../wire/codec.ts'
import { WireTypes } from '../../wire/wire-types.ts'
import { BUILTINS } from '../builtins.ts'
import { fail } from '../failure.ts'
import type { CallFrame, Eval, Machine } from '../machine.ts'
import { callNative } from '../native.ts'
import { NATIVES } from '../natives.ts'
import { Callable, Tagged, type Value } from '../value.ts'
import { compileActor } from './actors.ts'
import { BodyCompiler, constant, peekVariable, unsupported } from './body-compiler.ts'
import { placed } from './calls.ts'
import { checkOf } from './convert.ts'
import { countSteps, makeActivity, makeWorkflow } from './durable.ts'
import { FORMS } from './expressions.ts'
import { Frame } from './frame.ts'
import {
  type Condition,
  callableOf,
  compileCondition,
  compileFunction,
  type FunctionUnit,
  unitOf
} from './functions.ts'
import { asGuarded } from './guards.ts'
import { defineLater } from './later.ts'
import { asTransaction } from './mutations.ts'
import { compilePattern, localsOf } from './patterns.ts'
import type { ProgramNames } from './program-names.ts'

/** A function with its code. */
interface Declared {
  readonly unit: FunctionUnit
  readonly code: Hir.Body
}

interface Named {
  readonly name: string
  readonly code: Hir.Body
  readonly span: HirSpan
}

/** Compiles all functions of a program. `begin` evaluates its constants in order. */
export class ProgramCompiler implements ProgramNames {
  readonly #program: Program
  readonly #machine: Machine
  readonly #functions = new Map<string, Declared>()
  readonly #tests = new Map<string, Declared>()
  readonly #routes = new Map<string, Declared>()
  readonly #constructors = new Map<string, readonly string[]>()
  readonly #constants = new Map<string, { value: Value | undefined }>()
  readonly #unavailable = new Map<string, string>()
  readonly #values = new Map<Hir.Body, () => Value>()
  readonly #begin: (() => void)[] = []
  /** Required identities, by function or route. */
  readonly #guards: ReadonlyMap<string, AuthRule>
  readonly #types: WireTypes
  readonly tables: ProgramTables
  readonly users: Program['users']

  constructor(program: Program, machine: Machine) {
    this.#program = program
    this.#machine = machine
    this.users = program.users
    this.#guards = new Map(
      program.guards.flatMap(({ kind, name, auth }) =>
        auth === null || kind === 'page' ? [] : [[name, auth] as const]
      )
    )
    const evaluate = (code: Hir.Body): Value => this.valueOf(code)()
    this.#types = new WireTypes(program.module, { defaults: program.defaults, evaluate })
    this.tables = new ProgramTables(program, evaluate, () =>
      machine.request.caller.isSystem ? null : machine.request.caller
    )
    this.#declare()
    const all = [this.#functions, this.#tests, this.#routes].flatMap(each => [...each.values()])
    for (const declared of all) this.#compile(declared)
    this.#compileDurable()
  }

  test(name: string): FunctionUnit | undefined {
    return this.#tests.get(name)?.unit
  }

  /** Returns a route by method and path: `GET /tasks`. Its parameters are those of `routeParameters`. */
  route(contract: string): FunctionUnit | undefined {
    return this.#routes.get(contract)?.unit
  }

  valueOf(code: Hir.Body): () => Value {
    const known = this.#values.get(code)
    if (known !== undefined) return known
    const body = this.#body(code)
    const run = body.asValue(() => body.block(code.block))
    const value = (): Value => run(new Array(body.frame.size))
    this.#values.set(code, value)
    return value
  }

  /** Evaluates the constants. */
  begin(): void {
    for (const each of this.#constants.values()) each.value = undefined
    for (const begin of this.#begin) begin()
  }

  function(name: string): FunctionUnit | undefined {
    return this.#functions.get(name)?.unit
  }

  handlerParams(actor: string, event: string): readonly string[] {
    const { actors, agents } = this.#program.module
    const declared = [...actors, ...agents].find(({ name }) => name === actor)
    const handler = declared?.handlers.find(each => each.event_name === event)
    return handler?.params.map(({ name }) => name) ?? []
  }

  constructorNames(name: string): readonly string[] | null {
    return this.#constructors.get(name) ?? null
  }

  hasType(name: string): boolean {
    const { types, tables } = this.#program.module
    return [...types, ...tables].some(each => each.name === name)
  }

  omissibleOf(type: string): readonly (readonly [string, Eval | null])[] {
    const defaults = this.#program.defaults
      .filter(each => each.type === type)
      .map(({ field, code }): [string, Eval] => [field, this.valueOf(code)])
    const { types, tables } = this.#program.module
    const fields: readonly HirNamedField[] =
      tables.find(({ name }) => name === type)?.fields.map(({ name, type_ann }) => [name, type_ann]) ??
      types.find(({ name }) => name === type)?.fields ??
      []
    const options = fields.filter(([name, declared]) => isOption(declared) && !defaults.some(([each]) => each === name))
    return [...defaults, ...options.map(([name]) => [name, null] as const)]
  }

  codec(type: Hir.Type): Codec | null {
    return this.#types.codecOf(type)
  }

  unavailable(name: string): string | undefined {
    return this.#unavailable.get(name)
  }

  readConstant(name: string, at: number): Eval {
    const cell = this.#constants.get(name)
    if (cell === undefined) return () => fail('RUN_UNDEFINED', `${name} is not defined`, at)
    return () => cell.value ?? this.#initialised(cell.value, name, at)
  }

  functionValue(name: string, at: number): Eval {
    const unit = this.function(name)
    return unit === undefined ? unsupported(name, at) : constant(callableOf(this.#machine, unit))
  }

  nativeValue(key: string, at: number): Eval {
    if (BUILTINS.has(key)) return constant(BUILTINS.get(key) as Value)
    const host = NATIVES.get(key)
    if (host === undefined) return unsupported(key, at)
    const machine = this.#machine
    const call = (args: Value[], position: number): Value => {
      try {
        return callNative(machine, key, host, args)
      } catch (thrown) {
        throw placed(thrown, position)
      }
    }
    return constant(new Callable(key, null, call))
  }

  constructorValue(name: string, type: Hir.Type): Eval {
    const fields = this.#constructors.get(name)
    if (fields === undefined) return this.nativeValue(name, -1)
    const params = type.kind === 'fn' ? type.params : []
    const checks = params.map(param => checkOf({ names: this, machine: this.#machine }, param))
    return constant(constructorValue(name, fields, checks))
  }

  #initialised(value: Value | undefined, name: string, at: number): Value {
    return value === undefined ? fail('RUN_UNDEFINED', `${name} is used before it has a value`, at) : value
  }

  #body(code: Hir.Body): BodyCompiler {
    return new BodyCompiler(this.#machine, this, FORMS, new Frame(code.locals, null))
  }

  #declare(): void {
    const { module, tests, constants } = this.#program
    for (const { variants } of module.types) {
      for (const { name, fields } of variants) {
        this.#constructors.set(
          name,
          fields.map(([field]) => field)
        )
      }
    }
    const tools = [...module.mcp_tools, ...module.mcp_resources].map(({ func }) => func)
    const endpoints = [...module.query_fns, ...module.mutation_fns, ...module.server_fns]
    for (const fn of [...module.functions, ...endpoints, ...tools]) this.#functions.set(fn.name, declared(fn))
    for (const fn of tests) this.#tests.set(fn.name, declared(fn))
    for (const { route_contract: name, code, span } of module.routes) {
      this.#routes.set(name, declared({ name, code, span }))
    }
    for (const { name, code } of [...module.functions, ...endpoints, ...tools]) {
      const [only] = code.block
      const isMissing = only?.kind === 'Expr' && only.value.kind === 'Unresolved' && only.value.name === name
      if (isMissing) this.#unavailable.set(name, `${name}, which has no body,`)
    }
    for (const { name } of [...module.actors, ...module.agents]) this.#unavailable.set(name, `${name} without spawn`)
    for (const process of [...module.workflows, ...module.activities]) {
      const { unit, code } = declared(process)
      this.#functions.set(process.name, { code, unit: { ...unit, takesOptions: true } })
    }
    for (const { item } of module.imports) this.#unavailable.set(item, `the import ${item}`)
    for (const { alias } of module.rust_imports) this.#unavailable.set(alias, `the import ${alias}`)
    this.#unavailable.set('db', 'the database')
    for (const code of constants) this.#constant(code)
  }

  /** Declares the variables of a constant. Its value is compiled on first use, when all names are declared. */
  #constant(code: Hir.Body): void {
    const [statement] = code.block
    if (statement?.kind !== 'Let') return
    const body = this.#body(code)
    const bind = compilePattern(body, statement.pattern)
    const variables = localsOf(statement.pattern).map(id => {
      const { name } = code.locals[id] as Hir.Local
      const cell: { value: Value | undefined } = { value: undefined }
      this.#constants.set(name, cell)
      return { name, read: peekVariable(body.frame.variable(id)), cell }
    })
    const name = variables[0]?.name ?? '_'
    let run: Eval | null = null
    this.#begin.push(() => {
      run ??= body.asValue(() => body.metered(() => body.statement(statement.value)))
      const frame: CallFrame = new Array(body.frame.size)
      bind(frame, this.#evaluateConstant(name, run, frame))
      for (const { read, cell } of variables) cell.value = read(frame)
    })
  }

  /** Evaluates a constant. `spawn` in it returns the same instance each time, because its id is the constant's name. */
  #evaluateConstant(name: string, run: Eval, frame: CallFrame): Value {
    const { actors } = this.#machine
    if (actors !== null) actors.naming = { constant: name, count: 0 }
    try {
      return run(frame)
    } finally {
      if (actors !== null) actors.naming = null
    }
  }

  /** Compiles activities, workflows, actors and agents. */
  #compileDurable(): void {
    const { activities, workflows, actors, agents } = this.#program.module
    const machine = this.#machine
    for (const activity of activities) {
      const unit = this.function(activity.name)
      if (unit !== undefined) makeActivity(machine, unit, activity, this.#options(activity.optionsCode))
    }
    const names = new Set(activities.map(({ name }) => name))
    for (const { name, code } of workflows) {
      const unit = this.function(name)
      if (unit !== undefined) makeWorkflow(machine, unit, name, countSteps(code, names))
    }
    const { functions, query_fns, mutation_fns, server_fns } = this.#program.module
    for (const { name, return_type } of [...functions, ...query_fns, ...mutation_fns, ...server_fns]) {
      const unit = this.function(name)
      if (unit !== undefined && unit.takesOptions !== true) defineLater(machine, unit, return_type)
    }
    for (const actor of [...actors, ...agents]) {
      machine.actors?.define(compileActor(machine, code => this.#body(code), actor))
    }
  }

  /** Compiles the declared options of an activity, which may use its parameters. */
  #options(code: Hir.Body | undefined): Eval | null {
    if (code === undefined) return null
    const body = this.#body(code)
    for (const param of code.params) body.frame.declare(param)
    const run = body.asValue(() => body.block(code.block))
    const { length } = code.params
    return args => {
      const frame: CallFrame = new Array(body.frame.size)
      for (let index = 0; index < length; index++) frame[index] = args[index] as Value
      return run(frame)
    }
  }

  #compile({ unit, code }: Declared): void {
    const { name, at } = unit
    const conditions = this.#program.conditions.filter(each => each.of === name)
    const compiled = (...kinds: readonly string[]): Condition[] =>
      conditions
        .filter(({ kind }) => kinds.includes(kind))
        .map(({ kind, code: condition, message }) =>
          compileCondition(this.#body(condition), condition, message ?? `@${kind} of ${name} failed`)
        )
    const body = this.#body(code)
    compileFunction(body, unit, code, () => body.statements(code.block), {
      before: compiled('require', 'invariant'),
      after: compiled('ensure', 'invariant')
    })
    const guard = this.#guards.get(name)
    const mutation = this.#program.module.mutation_fns.find(each => this.#functions.get(each.name)?.unit === unit)
    if (mutation !== undefined) unit.run = asTransaction(this.#machine, name, mutation.return_type, unit.run)
    if (guard !== undefined) unit.run = asGuarded(this.#machine, name, guard, at, unit.run)
  }
}

function declared({ name, code, span }: Named): Declared {
  return { unit: unitOf(name, code, span.start), code }
}

function isOption(type: HirType): boolean {
  return typeof type === 'object' && 'Generic' in type && type.Generic[0] === 'Option'
}

function constructorValue(
  name: string,
  fields: readonly string[],
  checks: readonly ReturnType<typeof checkOf>[]
): Value {
  if (fields.length === 0) return new Tagged(name, [])
  const call = (args: Value[], at: number): Value => {
    if (args.length === fields.length) return new Tagged(name, args, fields)
    const takes = fields.length === 1 ? '1 argument' : `${fields.length} arguments`
    return fail('RUN_ARGUMENTS', `${name} takes ${takes}, got ${args.length}`, at)
  }
  const check = (args: readonly Value[], at: number): Value[] =>
    args.map((arg, index) => {
      const checked = checks[index] ?? null
      return checked === null ? arg : checked(arg, fields[index] ?? '', at)
    })
  return new Callable(name, fields, call, check)
}
