import { type Hir, walkHir } from '@svc/contracts'
import { SourceOffsets } from '../hir/byte-offsets.ts'
import type { CodeLowering } from '../hir/code.ts'
import { conditionsOf } from '../hir/conditions.ts'
import { pagesOf } from '../hir/pages.ts'
import type { TypeTable } from '../hir/type-table.ts'
import type { Declaration, FunctionDeclaration } from '../syntax/ast.ts'
import type { Span } from '../syntax/node.ts'
import { BUILTIN_DEFS } from '../types/builtin-types.ts'
import type { ModuleNames } from '../types/module-names.ts'
import { NATIVES } from '../types/natives/natives.ts'
import type { NativeSignature } from '../types/natives/natives-contract.ts'
import type { Type, TypeDef } from '../types/type.ts'
import type { TypedModule } from '../types/typed-module.ts'
import { Instances } from './instances.ts'
import { ANY, isNamed } from './value-types.ts'

/** Code that cannot be translated faithfully. */
export interface Problem {
  readonly code: 'web.no_value_yet' | 'web.not_in_browser' | 'web.machine.missing_value'
  readonly message: string
  readonly span: Span
}

/** How browser code calls a function of the program. */
type FunctionKind =
  /** Over HTTP. `write` may change data on the server. */
  | 'read'
  | 'write'
  /** Translated to TypeScript as well. */
  | 'local'
  /** Used as an element in views. */
  | 'view'
  | 'server'

/** Synchronous device functions. */
const SYNCHRONOUS: ReadonlySet<string> = new Set(['std.mobile.platform', 'std.mobile.has_camera'])

/** True for a device function that returns a promise. */
export function isDeviceCall(native: string): boolean {
  return native.startsWith('std.mobile.') && !SYNCHRONOUS.has(native)
}

/** Declarations, code and problems that all modules of a build share. */
export class EmittedProgram {
  readonly typed: TypedModule
  readonly names: ModuleNames
  readonly code: CodeLowering
  readonly pages: Hir.Pages
  /** Names of the live queries. */
  readonly live: ReadonlySet<string>
  readonly problems: Problem[] = []
  readonly #offsets: SourceOffsets
  readonly #bodies = new Map<string, Hir.Body>()
  readonly #defaults = new Map<string, readonly (readonly [field: string, value: Hir.Body])[]>()
  readonly #conditions = new Map<string, readonly EmittedCondition[]>()
  readonly #isAsync = new Map<string, boolean>()
  readonly #views: ReadonlyMap<string, Hir.View>

  constructor(code: CodeLowering, text: string, live: ReadonlySet<string>) {
    const { typed } = code.module
    this.pages = pagesOf(code)
    this.typed = typed
    this.names = typed.names
    this.code = code
    this.live = live
    this.#offsets = new SourceOffsets(text)
    this.#views = new Map(this.pages.views.map(view => [view.name.name, view]))
  }

  /** Copies of functions with open types. */
  readonly instances = new Instances(this)

  get types(): TypeTable {
    return this.code.module.types
  }

  /** Returns the code of a function or a constant; null for other names. */
  body(name: string): Hir.Body | null {
    const known = this.#bodies.get(name)
    if (known !== undefined) return known
    const declaration = this.names.get(name)?.declaration
    if (declaration?.kind !== 'Function' && declaration?.kind !== 'Const') return null
    const body = declaration.kind === 'Const' ? this.code.constant(declaration) : this.code.function(declaration)
    this.#bodies.set(name, body)
    return body
  }

  /** Names of the structs of the program. */
  get structs(): readonly string[] {
    return this.typed.module.items.flatMap(item =>
      item.kind === 'Type' && item.definition.form === 'struct' ? [item.name.text] : []
    )
  }

  /** Returns the fields of a struct that have a default, with the code of it. */
  defaultsOf(type: string): readonly (readonly [field: string, value: Hir.Body])[] {
    const known = this.#defaults.get(type)
    if (known !== undefined) return known
    const declaration = this.typed.defOf(type)?.declaration
    const fields =
      declaration?.kind === 'Type' && declaration.definition.form === 'struct' ? declaration.definition.fields : []
    const defaults = fields.flatMap(({ name, value }) =>
      value === null ? [] : [[name.text, this.code.value(value)] as const]
    )
    this.#defaults.set(type, defaults)
    return defaults
  }

  /** Returns the fields of a struct that a literal may omit, each with its default; null for None. */
  omissibleOf(type: string): readonly (readonly [field: string, value: Hir.Body | null])[] {
    const def = this.typed.defOf(type)
    if (def?.declaration?.kind !== 'Type') return []
    const defaults = new Map(this.defaultsOf(type))
    return Array.from(def.fields ?? []).flatMap(([name, field]) => {
      const value = defaults.get(name) ?? null
      return value !== null || isNamed(this.types.of(field.type), 'Option') ? [[name, value] as const] : []
    })
  }

  /** Returns the conditions of a function of the program, in the order in which they are checked. */
  conditionsOf(name: string): readonly EmittedCondition[] {
    const known = this.#conditions.get(name)
    if (known !== undefined) return known
    const declaration = this.names.get(name)?.declaration
    const conditions = declaration?.kind === 'Function' ? conditionsOf(declaration) : []
    const found = conditions.map(({ kind, message, value }) => ({
      kind,
      message: message ?? `@${kind} of ${name} failed`,
      body: this.code.condition(declaration as FunctionDeclaration, { kind, value })
    }))
    this.#conditions.set(name, found)
    return found
  }

  /** Returns what views use as the element `name`. */
  view(name: string): Hir.View | undefined {
    return this.#views.get(name)
  }

  /** Returns the names of the parameters of a function; null for other names. */
  paramsOf(name: string): readonly string[] | null {
    return this.names.get(name)?.signature?.params.map(param => param.name.text) ?? null
  }

  /** Returns the fields of a record, a struct or a row with their types; null for other types. */
  fieldsOf(type: Hir.Type): ReadonlyMap<string, Hir.Type> | null {
    if (type.kind === 'record') return new Map(type.fields)
    const def = this.#defOf(type)
    if (def === null || def.fields === null || type.kind !== 'named') return null
    return new Map([...def.fields].map(([name, field]) => [name, this.#within(def, type, field.type)]))
  }

  /** Returns a method of a builtin type; null for other types. */
  methodOf(type: Hir.Type, name: string): NativeSignature | null {
    const def = type.kind === 'named' ? BUILTIN_DEFS.get(type.name) : undefined
    return def === undefined ? null : (NATIVES.method(def, name) ?? null)
  }

  fieldType(type: Hir.Type, name: string): Hir.Type {
    return this.fieldsOf(type)?.get(name) ?? ANY
  }

  /** Returns a variant that the program declares, by name; undefined for `Some`, `Ok` and the like. */
  variant(name: string): Declaration | undefined {
    const entry = this.names.get(name)
    return entry?.kind === 'constructor' || isMachineState(entry?.declaration, name) ? entry?.declaration : undefined
  }

  /** Returns the variants of a declared type, each with its fields; null for other types. */
  variantsOf(type: Hir.Type): readonly EmittedVariant[] | null {
    const def = this.#defOf(type)
    if (def === null || def.variants === null || type.kind !== 'named') return null
    return def.variants.map(({ name, fields, isRecord }) => ({
      name,
      isRecord,
      fields: fields.map(field => [field.name, this.#within(def, type, field.type)] as const)
    }))
  }

  #defOf(type: Hir.Type): TypeDef | null {
    if (type.kind !== 'named') return null
    const def = this.typed.defOf(type.name)
    return def === undefined || def.declaration === null ? null : def
  }

  #within(def: TypeDef, { args }: Hir.Type & { kind: 'named' }, of: Type): Hir.Type {
    const type = this.types.of(of)
    return def.generics.length === 0
      ? type
      : this.types.substituted(type, new Map(def.generics.map(({ name }, i) => [name, args[i] ?? ANY])))
  }

  kindOf(name: string): FunctionKind {
    const entry = this.names.get(name)
    if (entry?.kind !== 'function' || entry.declaration.kind !== 'Function') return 'server'
    const { declaration } = entry
    switch (declaration.role) {
      case 'query':
        return 'read'
      case 'mutation':
      case 'server':
        return 'write'
      case 'plain':
        if (declaration.body === null) return 'server'
        return this.#views.has(name) ? 'view' : 'local'
      case 'component':
      case 'island':
      case 'loading':
        return 'view'
      default:
        return 'server'
    }
  }

  /** True if a function waits for the server or the device. */
  isAsync(name: string): boolean {
    const kind = this.kindOf(name)
    if (kind === 'read' || kind === 'write') return true
    const body = kind === 'local' ? this.body(name) : null
    if (body === null) return false
    const known = this.#isAsync.get(name)
    if (known !== undefined) return known
    // A recursive call waits only if another part of the function does.
    this.#isAsync.set(name, false)
    let waits = false
    for (const statement of body.block) {
      walkHir(statement, node => {
        if (node.kind === 'Call' && this.isAsync(node.name)) waits = true
        if (node.kind === 'CallNative' && isDeviceCall(node.native)) waits = true
        return !waits
      })
    }
    this.#isAsync.set(name, waits)
    return waits
  }

  /** Returns the result type of a function, or the type of a constant. */
  resultOf(declaration: Declaration): Hir.Type {
    return this.types.of(this.typed.resultOf(declaration))
  }

  report(code: Problem['code'], message: string, span: Hir.Span): void {
    this.problem({ code, message, span: this.place(span) })
  }

  /** Returns the offsets in the text of a node. */
  place(span: Hir.Span): Span {
    return this.#offsets.span(span)
  }

  /** Adds a problem whose place is an offset in the text. */
  problem({ code, message, span: { start, end } }: Problem): void {
    if (this.problems.some(each => each.span.start === start && each.span.end === end && each.code === code)) return
    this.problems.push({ code, message, span: { start, end } })
  }
}

/** A `@require`, `@ensure` or `@invariant` of a function. */
export interface EmittedCondition {
  readonly kind: 'require' | 'ensure' | 'invariant'
  readonly message: string
  /** Code with the parameters of the function, and `result` after them. */
  readonly body: Hir.Body
}

interface EmittedVariant {
  readonly name: string
  /** True if the payload is written in braces. */
  readonly isRecord: boolean
  readonly fields: readonly (readonly [name: string, type: Hir.Type])[]
}

function isMachineState(declaration: Declaration | undefined, name: string): boolean {
  return declaration?.kind === 'StateMachine' && declaration.name.text !== name
}
