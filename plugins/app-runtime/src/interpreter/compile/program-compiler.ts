import {
  type AuthRule,
  type HirBlock,
  type HirExpression,
  type HirFunction,
  type HirNamedField,
  type HirParam,
  type HirRoute,
  type HirType,
  type Program,
  routeParameters
} from '@svc/contracts'
import { ProgramTables } from '../../database/program-tables.ts'
import { BUILTINS } from '../builtins.ts'
import { fail } from '../failure.ts'
import type { CallFrame, Eval, Machine } from '../machine.ts'
import { callNative, type Native } from '../native.ts'
import { HOST_NAMESPACES, NATIVES } from '../natives.ts'
import { Callable, NONE, Tagged, type Value } from '../value.ts'
import { compileActor } from './actors.ts'
import { BodyCompiler, constant, readLocal, unsupported } from './body-compiler.ts'
import { atPosition } from './calls.ts'
import { sequence } from './control.ts'
import { makeActivity, makeWorkflow } from './durable.ts'
import { FORMS } from './expressions.ts'
import { callableOf, compileFunction, type FunctionUnit } from './functions.ts'
import { asGuarded } from './guards.ts'
import { defineLater } from './later.ts'
import { asTransaction } from './mutations.ts'
import { rootOf } from './paths.ts'
import { compilePattern } from './patterns.ts'
import type { ProgramNames } from './program-names.ts'
import { VariableUses } from './scope.ts'

interface Declared {
  readonly unit: FunctionUnit
  readonly params: readonly HirParam[]
  readonly body: HirBlock
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
  /** Options of activities after `with`. */
  readonly #options = new Map<FunctionUnit, Eval>()
  readonly #begin: (() => void)[] = []
  /** Required identities, by function or route. */
  readonly #guards: ReadonlyMap<string, AuthRule>
  /** Functions and routes in which `request` is the request. */
  readonly #exposed = new Set<FunctionUnit>()
  readonly tables: ProgramTables
  readonly users: Program['users']
  hasRequest = false
  isIdentified = false

  constructor(program: Program, machine: Machine) {
    this.#program = program
    this.#machine = machine
    this.users = program.users
    this.#guards = new Map(
      program.guards.flatMap(({ kind, name, auth }) =>
        auth === null || kind === 'page' ? [] : [[name, auth] as const]
      )
    )
    this.tables = new ProgramTables(
      program,
      expression => this.expression(expression)(),
      () => (machine.request.caller.isSystem ? null : machine.request.caller)
    )
    this.#declare()
    const all = [this.#functions, this.#tests, this.#routes].flatMap(each => [...each.values()])
    for (const declared of all) this.#compile(declared)
    this.#compileDurable()
  }

  test(name: string): FunctionUnit | undefined {
    return this.#tests.get(name)?.unit
  }

  /** Returns a route by method and path: `GET /tasks`. Its parameters are those of {@link routeParameters}. */
  route(contract: string): FunctionUnit | undefined {
    return this.#routes.get(contract)?.unit
  }

  /** Compiles an expression outside functions. */
  expression(expression: HirExpression): () => Value {
    const body = new BodyCompiler(this.#machine, this, FORMS, new VariableUses())
    const run = body.metered(() => body.value(expression))
    return () => run(new Array(body.scope.size))
  }

  /** Evaluates the constants. */
  begin(): void {
    for (const each of this.#constants.values()) each.value = undefined
    for (const begin of this.#begin) begin()
  }

  function(name: string): FunctionUnit | undefined {
    return this.#functions.get(name)?.unit
  }

  actorParams(name: string): readonly HirParam[] | null {
    const { actors, agents } = this.#program.module
    const actor = actors.find(each => each.name === name)
    if (actor !== undefined) return actor.params ?? []
    return agents.some(each => each.name === name) ? [] : null
  }

  constructorNames(name: string): readonly string[] | null {
    return this.#constructors.get(name) ?? null
  }

  defaultsOf(type: string): readonly (readonly [string, HirExpression])[] {
    return this.#program.defaults.filter(each => each.type === type).map(({ field, value }) => [field, value])
  }

  hasType(name: string): boolean {
    const { types, tables } = this.#program.module
    return [...types, ...tables].some(each => each.name === name)
  }

  optionsOf(type: string): readonly string[] {
    const { types, tables } = this.#program.module
    const fields: readonly HirNamedField[] =
      tables.find(({ name }) => name === type)?.fields.map(({ name, type_ann }) => [name, type_ann]) ??
      types.find(({ name }) => name === type)?.fields ??
      []
    return fields.filter(([, declared]) => isOption(declared)).map(([name]) => name)
  }

  native(path: string): Native | undefined {
    return NATIVES.get(path) ?? NATIVES.get(`std.${path}`)
  }

  unavailable(name: string): string | undefined {
    return this.#unavailable.get(name)
  }

  isHost(body: BodyCompiler, root: string): boolean {
    if (body.scope.lookup(root) !== undefined || this.#functions.has(root) || this.#constants.has(root)) return false
    return HOST_NAMESPACES.has(root)
  }

  hostValue(body: BodyCompiler, path: string, at: number): Eval | null {
    if (!this.isHost(body, rootOf(path))) return null
    const host = this.native(path)
    return host === undefined ? unsupported(path, at) : this.#nativeValue(path, host)
  }

  read(name: string, at: number): Eval {
    const constantCell = this.#constants.get(name)
    if (constantCell !== undefined) {
      return () => this.#initialised(constantCell.value, name, at)
    }
    const unit = this.#functions.get(name)?.unit
    if (unit !== undefined) return constant(callableOf(this.#machine, unit))
    const fields = this.#constructors.get(name)
    if (fields !== undefined) return constant(constructorValue(name, fields))
    if (BUILTINS.has(name)) return constant(BUILTINS.get(name) as Value)
    const host = NATIVES.get(name)
    if (host !== undefined) return this.#nativeValue(name, host)
    const unavailable = this.#unavailable.get(name)
    if (unavailable !== undefined) return unsupported(unavailable, at)
    if (HOST_NAMESPACES.has(name)) return unsupported(`${name} as a value`, at)
    const machine = this.#machine
    if (name === 'request' && this.hasRequest) return () => machine.request.value
    return () => fail('RUN_UNDEFINED', `${name} is not defined`, at)
  }

  #initialised(value: Value | undefined, name: string, at: number): Value {
    return value === undefined ? fail('RUN_UNDEFINED', `${name} is used before it has a value`, at) : value
  }

  #nativeValue(name: string, host: Native): Eval {
    const machine = this.#machine
    return constant(new Callable(name, null, (args, at) => atPosition(at, () => callNative(machine, name, host, args))))
  }

  #declare(): void {
    const { module, tests, constants } = this.#program
    for (const { variants } of module.types) {
      for (const { name, fields } of variants)
        this.#constructors.set(
          name,
          fields.map(([field]) => field)
        )
    }
    const tools = [...module.mcp_tools, ...module.mcp_resources].map(({ func }) => func)
    const endpoints = [...module.query_fns, ...module.mutation_fns, ...module.server_fns]
    for (const fn of [...module.functions, ...endpoints, ...tools]) this.#functions.set(fn.name, declared(fn))
    for (const { name } of [...endpoints, ...tools]) {
      const unit = this.function(name)
      if (unit !== undefined) this.#exposed.add(unit)
    }
    for (const fn of tests) this.#tests.set(fn.name, declared(fn))
    for (const route of module.routes) this.#routes.set(route.route_contract, declared(routeFunction(route)))
    for (const { name } of [...module.actors, ...module.agents]) this.#unavailable.set(name, `${name} without spawn`)
    for (const process of [...module.workflows, ...module.activities]) {
      const { unit, ...rest } = declared(process)
      this.#functions.set(process.name, { ...rest, unit: { ...unit, takesOptions: true } })
    }
    for (const { item } of module.imports) this.#unavailable.set(item, `the import ${item}`)
    for (const { alias } of module.rust_imports) this.#unavailable.set(alias, `the import ${alias}`)
    this.#unavailable.set('db', 'the database')
    for (const statement of constants) this.#constant(statement)
  }

  #constant(statement: HirBlock[number]): void {
    if (!('Let' in statement)) return
    const { pattern, value } = statement.Let
    const body = new BodyCompiler(this.#machine, this, FORMS, new VariableUses())
    const bind = compilePattern(body, pattern, false)
    const declared = [...body.scope.locals()]
    const locals = declared.map(local => ({ read: readLocal(local), cell: this.#cellOf(local.name) }))
    const name = declared[0]?.name ?? '_'
    // Compiled on first use, when all names are declared.
    let run: Eval | null = null
    this.#begin.push(() => {
      const own = new BodyCompiler(this.#machine, this, FORMS, new VariableUses())
      run ??= own.metered(() => own.value(value))
      const frame: CallFrame = []
      bind(frame, this.#evaluateConstant(name, run, own.scope.size))
      for (const { read, cell } of locals) cell.value = read(frame)
    })
  }

  /** Evaluates a constant. `spawn` in it returns the same instance each time, because its id is the constant's name. */
  #evaluateConstant(constant: string, run: Eval, size: number): Value {
    const { actors } = this.#machine
    if (actors !== null) actors.naming = { constant, count: 0 }
    try {
      return run(new Array(size))
    } finally {
      if (actors !== null) actors.naming = null
    }
  }

  /** Compiles a body, and the options of an activity, which may use its parameters. */
  #statements(body: BodyCompiler, unit: FunctionUnit, statements: HirBlock): Eval {
    const activity = unit.takesOptions && this.#program.module.activities.find(({ name }) => name === unit.name)
    if (activity && activity.options !== undefined) this.#options.set(unit, body.value(activity.options))
    return sequence(body, statements)
  }

  #cellOf(name: string): { value: Value | undefined } {
    const cell: { value: Value | undefined } = { value: undefined }
    this.#constants.set(name, cell)
    return cell
  }

  /** Compiles activities, workflows, actors and agents. */
  #compileDurable(): void {
    const { activities, workflows, actors, agents } = this.#program.module
    const machine = this.#machine
    for (const activity of activities) {
      const declared = this.#functions.get(activity.name)
      const options = declared === undefined ? null : (this.#options.get(declared.unit) ?? null)
      if (declared !== undefined) makeActivity(machine, declared.unit, activity, options)
    }
    const steps = new Set(['workflow_wait', 'workflow_wait_signal', ...activities.map(({ name }) => name)])
    for (const workflow of workflows) {
      const unit = this.function(workflow.name)
      if (unit !== undefined) makeWorkflow(machine, unit, workflow, steps)
    }
    const { functions, query_fns, mutation_fns, server_fns } = this.#program.module
    for (const { name, return_type } of [...functions, ...query_fns, ...mutation_fns, ...server_fns]) {
      const unit = this.function(name)
      if (unit !== undefined && unit.takesOptions !== true) defineLater(machine, unit, return_type)
    }
    for (const actor of [...actors, ...agents]) machine.actors?.define(compileActor(machine, this, actor))
  }

  #compile({ unit, params, body: statements }: Declared): void {
    const conditions = this.#program.conditions.filter(each => each.of === unit.name)
    const guard = this.#guards.get(unit.name)
    this.hasRequest = this.#exposed.has(unit)
    this.isIdentified = guard?.isOptional === false
    const uses = new VariableUses()
    const compileOnce = (): void => {
      const body = new BodyCompiler(this.#machine, this, FORMS, uses)
      compileFunction(body, unit, params, () => this.#statements(body, unit, statements), conditions)
    }
    compileOnce()
    // Captured variables are known only after the first pass.
    if (uses.needsSecondPass) compileOnce()
    const mutation = this.#program.module.mutation_fns.find(({ name }) => this.#functions.get(name)?.unit === unit)
    if (mutation !== undefined) unit.run = asTransaction(this.#machine, unit.name, mutation.return_type, unit.run)
    if (guard !== undefined) unit.run = asGuarded(this.#machine, unit.name, guard, unit.at, unit.run)
    this.hasRequest = false
    this.isIdentified = false
  }
}

type DeclaredFunction = Pick<HirFunction, 'name' | 'params' | 'body' | 'span'>

function declared({ name, params, body, span }: DeclaredFunction): Declared {
  const names = params.map(param => param.name)
  return { unit: { name, params: names, at: span.start, defaults: [], size: 0, run: () => null }, params, body }
}

function isOption(type: HirType): boolean {
  return typeof type === 'object' && 'Generic' in type && type.Generic[0] === 'Option'
}

function routeFunction(route: HirRoute): DeclaredFunction {
  return { name: route.route_contract, params: routeParameters(route), body: route.body, span: route.span }
}

function constructorValue(name: string, fields: readonly string[]): Value {
  if (fields.length === 0) return name === 'None' ? NONE : new Tagged(name, [])
  return new Callable(name, fields, (args, at) => {
    if (args.length === fields.length) return new Tagged(name, args, fields)
    const takes = fields.length === 1 ? '1 argument' : `${fields.length} arguments`
    return fail('RUN_ARGUMENTS', `${name} takes ${takes}, got ${args.length}`, at)
  })
}
