import {
  type Facts,
  factsOf,
  type GuardDeclaration,
  type Hir,
  type HirDbPlan,
  type HirNode,
  type LiveUse,
  type ProgramFacts,
  type ProgramUsers,
  type RequestUse,
  type RowRules,
  walkHir
} from '@svc/contracts'
import type { Declaration, FunctionDeclaration, Module } from '../syntax/ast.ts'
import type { CodeLowering } from './code.ts'
import { conditionsOf } from './conditions.ts'
import { plainLookups } from './plain-lookups.ts'

/** A declaration with its own facts and the declarations that it calls. */
interface Unit {
  readonly name: string
  /** Calls whose caller is that of the unit: of functions and activities. */
  readonly calls: Set<string>
  /** Calls that run as the program itself: of workflows and handlers. */
  readonly detached: Set<string>
  readonly reads: Set<string>
  readonly writes: Set<string>
  readonly live: Map<string, LiveUse>
  rawSql: boolean
  request: RequestUse
}

/** Parts of a program that facts depend on, in addition to its code. */
interface Parts {
  readonly guards: readonly GuardDeclaration[]
  readonly rules: readonly Pick<RowRules, 'table'>[]
  readonly users: Pick<ProgramUsers, 'table'> | null
}

/** Name of the unit of constants. The program itself computes them before each call. */
const BEFORE = ''
/** Name of the unit of defaults, and of functions in constants. They run as the caller, in each place that uses them. */
const EVERYWHERE = '*'

/** Computes the facts about a module without errors, through calls. */
export function programFacts(code: CodeLowering, { guards, rules, users }: Parts): ProgramFacts {
  const collected = new Collection(code, new Set(rules.map(({ table }) => table)), users?.table ?? null)
  const { units } = collected
  for (const { name, auth } of guards) {
    const unit = auth === null ? undefined : units.get(name)
    if (unit !== undefined) unit.request = stronger(unit.request, 'user')
  }
  spread(units)
  const lookups = plainLookups(code)
  const declarations = [...units.values()].flatMap((unit): [string, Facts][] => {
    const { name, reads, writes, live, rawSql, request } = unit
    const plainLookup = lookups.get(name) ?? null
    const isEmpty = reads.size + writes.size + live.size === 0 && !rawSql && request === 'none' && plainLookup === null
    if (name === BEFORE || name === EVERYWHERE || isEmpty) return []
    return [[name, { reads: [...reads], writes: [...writes], live: [...live.values()], rawSql, request, plainLookup }]]
  })
  const { live, searched, natives } = collected
  return {
    // Names such as `__proto__` would get lost in assignments.
    declarations: Object.fromEntries(declarations),
    live: [...live.values()],
    searched: [...searched],
    defersCalls: natives.has('run_later') || natives.has('run_at'),
    usesFiles: [...natives].some(native => native.startsWith('std.files.')),
    usesDatabase: collected.usesDatabase
  }
}

/** Returns the names of the queries whose changed results clients receive. */
export function liveQueries(code: CodeLowering): Set<string> {
  const facts = programFacts(code, { guards: [], rules: [], users: null })
  const queries = code.module.typed.module.items.flatMap(item =>
    item.kind === 'Function' && item.role === 'query' ? [item.name.text] : []
  )
  return new Set(queries.filter(name => factsOf(facts, name).live.length > 0))
}

/** Reads the code of all declarations once. */
class Collection {
  readonly units = new Map<string, Unit>()
  readonly live = new Map<string, LiveUse>()
  readonly searched = new Set<string>()
  readonly natives = new Set<string>()
  usesDatabase = false
  readonly #code: CodeLowering
  readonly #ruled: ReadonlySet<string>
  readonly #users: string | null
  #inProgram = true
  /** Actors by the names of their handlers. */
  readonly #handlers = new Map<string, string[]>()

  constructor(code: CodeLowering, ruled: ReadonlySet<string>, users: string | null) {
    this.#code = code
    this.#ruled = ruled
    this.#users = users
    const { module } = code.module.typed
    for (const item of module.items) this.#addHandlers(item)
    const everywhere = this.#unit(EVERYWHERE)
    for (const item of module.items) this.#declaration(item, everywhere)
    this.#script(module)
    // Tests have facts, but are not part of what the program does.
    this.#inProgram = false
    for (const item of module.items) if (isTest(item)) this.#function(item)
  }

  #addHandlers(item: Declaration): void {
    if (item.kind !== 'Actor' && item.kind !== 'Agent') return
    for (const member of item.members) {
      if (member.kind !== 'Handler') continue
      const { text } = member.event
      this.#handlers.set(text, [...(this.#handlers.get(text) ?? []), item.name.text])
    }
  }

  #unit(name: string): Unit {
    const known = this.units.get(name)
    if (known !== undefined) return known
    const unit: Unit = {
      name,
      calls: new Set(),
      detached: new Set(),
      reads: new Set(),
      writes: new Set(),
      live: new Map(),
      rawSql: false,
      request: 'none'
    }
    this.units.set(name, unit)
    return unit
  }

  #declaration(item: Declaration, everywhere: Unit): void {
    const code = this.#code
    switch (item.kind) {
      case 'Function':
        if (!isTest(item)) this.#function(item)
        return
      case 'Workflow':
        this.#body(code.function(item), this.#unit(item.name.text))
        return
      case 'Activity':
        this.#body(code.function(item), this.#unit(item.name.text))
        if (item.options !== null) this.#body(code.options(item, item.options), this.#unit(item.name.text))
        return
      case 'HttpRoute':
        this.#body(code.route(item), this.#unit(`${item.method.toUpperCase()} ${item.path.value}`))
        return
      case 'Actor':
      case 'Agent': {
        const unit = this.#unit(item.name.text)
        this.#body(code.initial(item), unit)
        for (const member of item.members) {
          if (member.kind === 'Handler') this.#body(code.handler(item, member), unit)
          else if (member.kind === 'Migration' && item.kind === 'Agent') this.#body(code.migration(item, member), unit)
        }
        return
      }
      case 'Const':
        this.#constant(code.constant(item), everywhere)
        return
      case 'Table':
        for (const { value } of item.fields) if (value !== null) this.#body(code.value(value), everywhere)
        return
      case 'Type':
        if (item.definition.form !== 'struct') return
        for (const { value } of item.definition.fields) if (value !== null) this.#body(code.value(value), everywhere)
    }
  }

  #function(item: FunctionDeclaration): void {
    const unit = this.#unit(item.name.text)
    this.#body(this.#code.function(item), unit)
    for (const condition of conditionsOf(item)) this.#body(this.#code.condition(item, condition), unit)
  }

  #script({ items }: Module): void {
    const statements = items.filter(item => item.kind === 'ScriptStatement')
    if (statements.length > 0) this.#body(this.#code.script(statements), this.#unit('main'))
  }

  /** Reads a constant: it is computed before a call, but a function in it runs later, as the caller. */
  #constant({ block }: Hir.Body, everywhere: Unit): void {
    const before = this.#unit(BEFORE)
    const later = (node: HirNode): boolean => this.#node(node, everywhere)
    for (const statement of block) {
      walkHir(statement, node => {
        if (node.kind === 'Function') return later(node)
        if (node.kind !== 'Lambda') return this.#node(node, before)
        walkHir(node, later)
        return false
      })
    }
  }

  #body({ block, defaults }: Hir.Body, unit: Unit): void {
    const visit = (node: HirNode): boolean => this.#node(node, unit)
    for (const value of defaults) if (value !== null) walkHir(value, visit)
    for (const statement of block) walkHir(statement, visit)
  }

  #node(node: HirNode, unit: Unit): boolean {
    switch (node.kind) {
      case 'Call':
      case 'Function':
        this.#call(node.name, unit)
        return true
      case 'CallNative':
      case 'Native':
        if (this.#inProgram) this.natives.add(node.native)
        return true
      case 'CallHandler':
      case 'Spawn':
        unit.detached.add(node.actor)
        return true
      case 'CallMethod':
        // The receiver may be an actor.
        for (const actor of this.#receivers(node)) unit.detached.add(actor)
        return true
      case 'Db':
        this.#operation(node.plan, unit)
        return true
      case 'RawSql':
        this.usesDatabase = true
        unit.rawSql = true
        return true
      case 'Field':
        if (node.object.kind !== 'Request') return true
        // The identity of the caller, and its row in the table of users.
        if (node.name === 'account' && this.#users !== null) unit.reads.add(this.#users)
        unit.request = stronger(unit.request, node.name === 'user' || node.name === 'account' ? 'user' : 'all')
        return false
      case 'Request':
        unit.request = 'all'
        return true
      default:
        return true
    }
  }

  /** Returns the actors that a method may call. The first argument of `send` is the name of the handler. */
  #receivers({ method, args }: Hir.CallMethod): readonly string[] {
    if (method !== 'send') return this.#handlers.get(method) ?? []
    const [event] = args
    return event?.kind === 'Str' ? (this.#handlers.get(event.value) ?? []) : [...this.#handlers.values()].flat()
  }

  #call(name: string, unit: Unit): void {
    const isWorkflow = this.#code.module.name(name)?.declaration.kind === 'Workflow'
    if (isWorkflow) unit.detached.add(name)
    else unit.calls.add(name)
  }

  #operation({ table, op, includes = [], capabilities }: HirDbPlan, unit: Unit): void {
    this.usesDatabase = true
    const isWrite = op === 'Insert' || op === 'Update' || op === 'Delete'
    if (isWrite) unit.writes.add(table)
    else unit.reads.add(table)
    for (const include of includes) unit.reads.add(include.table)
    if (op === 'UnsafeQueryRawClause') unit.rawSql = true
    const { emits_change_log, live_topic: topic, retrieval_mode } = capabilities
    if (emits_change_log) {
      const use = { table, topic }
      unit.live.set(JSON.stringify(use), use)
      if (this.#inProgram) this.live.set(JSON.stringify(use), use)
    }
    const isSearch = retrieval_mode === 'Fts' || retrieval_mode === 'Hybrid'
    if (isSearch && this.#inProgram) this.searched.add(table)
    // Row rules depend on the identity of the caller.
    if ([table, ...includes.map(each => each.table)].some(each => this.#ruled.has(each))) {
      unit.request = stronger(unit.request, 'user')
    }
  }
}

function isTest(item: Declaration): item is FunctionDeclaration {
  return item.kind === 'Function' && (item.role === 'test' || item.role === 'forall' || item.role === 'fuzz')
}

/** Adds the facts of callees to their callers, until nothing changes. */
function spread(units: ReadonlyMap<string, Unit>): void {
  const callers = new Map<string, { readonly unit: Unit; readonly isDetached: boolean }[]>()
  const add = (name: string, unit: Unit, isDetached: boolean): void => {
    const known = callers.get(name)
    if (known === undefined) callers.set(name, [{ unit, isDetached }])
    else known.push({ unit, isDetached })
  }
  for (const unit of units.values()) {
    for (const name of unit.calls) add(name, unit, false)
    for (const name of unit.detached) add(name, unit, true)
    if (unit.name !== BEFORE) add(BEFORE, unit, true)
    if (unit.name !== EVERYWHERE) add(EVERYWHERE, unit, false)
  }
  const open = [...units.values()]
  const isOpen = new Set(open)
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    isOpen.delete(next)
    for (const { unit, isDetached } of callers.get(next.name) ?? []) {
      if (!take(unit, next, isDetached) || isOpen.has(unit)) continue
      isOpen.add(unit)
      open.push(unit)
    }
  }
}

/** Adds the facts of a callee. Returns true if there are new ones. */
function take(unit: Unit, callee: Unit, isDetached: boolean): boolean {
  const before = unit.reads.size + unit.writes.size + unit.live.size
  for (const table of callee.reads) unit.reads.add(table)
  for (const table of callee.writes) unit.writes.add(table)
  for (const [key, use] of callee.live) unit.live.set(key, use)
  let isNew = unit.reads.size + unit.writes.size + unit.live.size > before
  if (callee.rawSql && !unit.rawSql) {
    unit.rawSql = true
    isNew = true
  }
  const request = isDetached ? unit.request : stronger(unit.request, callee.request)
  if (request !== unit.request) {
    unit.request = request
    isNew = true
  }
  return isNew
}

const RANK: Readonly<Record<RequestUse, number>> = { none: 0, user: 1, all: 2 }

function stronger(a: RequestUse, b: RequestUse): RequestUse {
  return RANK[a] >= RANK[b] ? a : b
}
