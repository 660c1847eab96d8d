import type { Declaration, FunctionDeclaration, Module } from '../../syntax/ast.ts'
import type { Call, Expression, ObjectLiteral } from '../../syntax/ast-expressions.ts'
import { NO_ID, type Span } from '../../syntax/node.ts'
import { walk } from '../../syntax/walk.ts'
import { typesOf } from '../../types/check-module.ts'
import { type DbTables, tablesOf } from '../../types/db/db-tables.ts'
import { type ModuleName, type ModuleNames, moduleNames } from '../../types/module-names.ts'
import type { TypedModule } from '../../types/typed-module.ts'
import { TypeReader } from '../value-types/read-type.ts'
import { ANY, type ValueType } from '../value-types/type.ts'
import { valueTypeOf } from './value-type-of.ts'
import { isPlain } from './value-types.ts'

/** Code that cannot be translated faithfully. */
export interface Problem {
  readonly code: 'web.no_value_yet' | 'web.not_in_browser'
  readonly message: string
  readonly span: Span
}

/** How browser code calls a function of the program. */
export type FunctionKind =
  /** Over HTTP. `write` may change data on the server. */
  | 'read'
  | 'write'
  /** Translated to TypeScript as well. */
  | 'local'
  /** Used as an element in views. */
  | 'view'
  | 'server'

const CONTROL: ReadonlySet<string> = new Set(['Block', 'If', 'Match', 'For'])

/** State shared by the translators of a module. */
export class TranslatedProgram {
  readonly module: Module
  readonly names: ModuleNames
  readonly tables: DbTables
  /** Names of the live queries. */
  readonly live: ReadonlySet<string>
  readonly problems: Problem[] = []
  readonly reader: TypeReader
  #typed: TypedModule | null = null
  readonly #valueTypes = new Map<number, ValueType>()
  readonly #components: ReadonlyMap<string, Declaration>
  readonly #isAsync = new Map<FunctionDeclaration, boolean>()

  constructor(module: Module, live: ReadonlySet<string> = new Set()) {
    this.module = module
    this.live = live
    this.names = moduleNames(module)
    this.tables = tablesOf(module)
    this.reader = new TypeReader(module)
    this.#components = new Map(
      module.items.flatMap(item => (isComponent(item) ? [[item.name.text, item] as const] : []))
    )
  }

  /** Infers the types on first use, since many modules have no views. */
  get #types(): TypedModule {
    this.#typed ??= typesOf(this.module)
    return this.#typed
  }

  /** Returns the expected type of a record that omits members with a default. */
  recordType(record: ObjectLiteral): string | undefined {
    return this.#types.records.get(record)
  }

  /** True if a literal becomes a decimal with its digits. */
  isDecimal(literal: Expression): boolean {
    return literal.id !== NO_ID && this.#types.conversionOf(literal)?.kind === 'decimal'
  }

  /** Returns the type of an expression; for the result of a database operation, the type of its value. */
  typeOf(expression: Expression): ValueType {
    if (expression.id === NO_ID) return ANY
    const known = this.#valueTypes.get(expression.id)
    if (known !== undefined) return known
    const found = valueTypeOf(this.#types.typeOf(expression))
    const value = found.kind === 'dbResult' ? found.value : found
    // The checker discards the values of children of elements, which a view shows.
    const type = CONTROL.has(expression.kind) && isPlain(value, 'Unit') ? ANY : value
    this.#valueTypes.set(expression.id, type)
    return type
  }

  /** Returns the result type of a declaration, like {@link typeOf}. */
  resultOf(declaration: Declaration): ValueType {
    const found = valueTypeOf(this.#types.resultOf(declaration))
    return found.kind === 'dbResult' ? found.value : found
  }

  /** Returns the declaration that views use as the element `name`; see {@link isComponent}. */
  component(name: string): Declaration | undefined {
    return this.#components.get(name)
  }

  kindOf({ declaration, kind }: ModuleName): FunctionKind {
    if (kind !== 'function' || declaration.kind !== 'Function') return 'server'
    switch (declaration.role) {
      case 'query':
        return 'read'
      case 'mutation':
      case 'server':
        return 'write'
      case 'plain':
        if (declaration.body === null) return 'server'
        return isComponent(declaration) ? 'view' : 'local'
      case 'component':
      case 'island':
      case 'loading':
        return 'view'
      default:
        return 'server'
    }
  }

  /** True if a function must wait for the server. */
  isAsync(name: string): boolean {
    const entry = this.names.get(name)
    if (entry === undefined) return false
    const kind = this.kindOf(entry)
    if (kind === 'read' || kind === 'write') return true
    return kind === 'local' && this.#waits(entry.declaration as FunctionDeclaration)
  }

  #waits(declaration: FunctionDeclaration): boolean {
    const known = this.#isAsync.get(declaration)
    if (known !== undefined) return known
    // A recursive call waits only if another part of the function does.
    this.#isAsync.set(declaration, false)
    let waits = false
    if (declaration.body !== null) {
      walk(declaration.body, node => {
        if (node.kind === 'Call') {
          const { callee } = node as Call
          if (callee.kind === 'Identifier' && this.isAsync(callee.name)) waits = true
        }
        return !waits
      })
    }
    this.#isAsync.set(declaration, waits)
    return waits
  }

  report(code: Problem['code'], message: string, { start, end }: Span): void {
    if (this.problems.some(each => each.span.start === start && each.span.end === end && each.code === code)) return
    this.problems.push({ code, message, span: { start, end } })
  }
}

export type ViewDeclaration = Extract<
  Declaration,
  { kind: 'Component' | 'Fragment' | 'Island' | 'V0' | 'Form' | 'Function' }
>

/**
 * True if views may use a declaration as an element:
 * - a component, fragment, island, V0 component or form;
 * - a function with the role component, island or loading;
 * - a plain function with the declared result type `Element` and a capitalised name.
 */
export function isComponent(item: Declaration): item is ViewDeclaration {
  switch (item.kind) {
    case 'Component':
    case 'Fragment':
    case 'Island':
    case 'V0':
    case 'Form':
      return true
    case 'Function': {
      if (item.role === 'component' || item.role === 'island' || item.role === 'loading') return true
      const isElement = item.result?.kind === 'NamedType' && item.result.path.at(-1)?.text === 'Element'
      return item.role === 'plain' && isElement && /^[A-Z]/.test(item.name.text)
    }
    default:
      return false
  }
}
