import { liveQueriesOf } from '@svc/contracts'
import { type Doc, layout } from '../doc/doc.ts'
import type { HirModule } from '../hir/hir.ts'
import { inOrderOfUse } from '../hir/order-of-use.ts'
import type {
  Component,
  ComponentMember,
  Derived,
  Effect,
  Fragment,
  FunctionDeclaration,
  Lifecycle,
  Module,
  Param,
  State
} from '../syntax/ast.ts'
import type { Call, Expression, Identifier } from '../syntax/ast-expressions.ts'
import type { Assign } from '../syntax/ast-statements.ts'
import { walk } from '../syntax/walk.ts'
import { arrow, call } from '../typescript/code.ts'
import { TypeScriptTypes } from '../typescript/types.ts'
import { EmittedModule } from '../web/typescript/emitted-module.ts'
import { emptyValue } from '../web/typescript/empty-value.ts'
import { contains } from '../web/typescript/needs-statements.ts'
import { rootOf } from '../web/typescript/newest-states.ts'
import { isComponent, TranslatedProgram, type ViewDeclaration } from '../web/typescript/program.ts'
import { Scope } from '../web/typescript/scope.ts'
import type { RemoteValues } from '../web/typescript/translator.ts'
import { usedNames } from '../web/typescript/used-names.ts'
import { isPlain } from '../web/typescript/value-types.ts'
import { ViewTranslator } from '../web/typescript/view-translator.ts'
import type { ValueType } from '../web/value-types/type.ts'
import type { WebComponent, WebMember, WebProp, WebTree } from './tree.ts'

type Effectful = Effect | Lifecycle

/** Translates the components, fragments, and functions that are used as elements. */
export function buildWebTree(module: Module, hir: HirModule): WebTree {
  const program = new TranslatedProgram(module, new Set(liveQueriesOf(hir).keys()))
  const types = new TypeScriptTypes(hir)
  const helpers = new Set<string>()
  const shared = new Set<string>()
  const components = module.items.flatMap(item => {
    if (!isComponent(item)) return []
    const file = new EmittedModule(program, types, { helpers, shared, own: item.name.text })
    return buildComponent(item, file) ?? []
  })
  return { program, types, components, helpers, shared }
}

/** Returns null for a declaration without code, such as a form. */
function buildComponent(declaration: ViewDeclaration, file: EmittedModule): WebComponent | null {
  switch (declaration.kind) {
    case 'Component':
      return new ComponentBuilder(declaration, file).run()
    case 'Fragment':
    case 'Function':
      return functionComponent(declaration, file)
    default:
      return null
  }
}

/** Builds a fragment, or a function whose statements return an element. */
function functionComponent(declaration: Fragment | FunctionDeclaration, file: EmittedModule): WebComponent {
  const { name, params, body } = declaration
  const scope = new Scope(null, usedNames(declaration, file.program))
  const view = new ViewTranslator(file, scope)
  const props = buildProps(params, view, scope)
  const isFragment = declaration.kind === 'Fragment'
  const statements: Doc[] = isFragment || body === null ? [] : view.written(() => view.into(body, { kind: 'return' }))
  return {
    name: name.text,
    span: name,
    props,
    members: statements.map(code => ({ kind: 'statement', code })),
    view: declaration.kind === 'Fragment' ? view.node(declaration.body) : null,
    styles: [],
    file
  }
}

/** Builds the properties of a component, and declares them in `scope`. */
function buildProps(params: readonly Param[], view: ViewTranslator, scope: Scope): WebProp[] {
  return params.map(({ name, type, value }) => {
    const known = view.program.reader.read(type)
    const initial = value === null ? null : view.closed(value).doc
    const { name: variable } = scope.declare(name.text, { type: known })
    return { name: name.text, variable, type: view.file.type(type), value: initial }
  })
}

class ComponentBuilder {
  readonly #declaration: Component
  readonly #file: EmittedModule
  readonly #scope: Scope
  readonly #view: ViewTranslator
  readonly #members: WebMember[] = []
  readonly #responses = new Map<string, string>()
  /** Server calls for initial states, each of which runs once. */
  readonly #loads: WebMember[] = []

  constructor(declaration: Component, file: EmittedModule) {
    this.#declaration = declaration
    this.#file = file
    // A variable of the component must not shadow a module name that the component uses.
    this.#scope = new Scope(null, usedNames(declaration, file.program))
    this.#view = new ViewTranslator(file, this.#scope)
    this.#view.whileShown = () => this.#whileShown()
    this.#view.remoteValues = (...request) => this.#response(...request)
  }

  run(): WebComponent {
    const { name, params, members, styles } = this.#declaration
    const props = buildProps(params, this.#view, this.#scope)
    const values = members.filter(member => !isEffectful(member) && member.kind !== 'View')
    const states = new Set(values.filter(member => member.kind === 'State'))
    for (const member of values) if (member.kind === 'State') this.#declareState(member)
    for (const member of inOrderOfUse(values)) {
      if (states.has(member as State)) this.#state(member as State)
      else if (member.kind === 'Derived') this.#derived(member)
      else this.#statement(member)
    }
    this.#members.push(...this.#loads)
    for (const member of members) if (isEffectful(member)) this.#effect(member)
    const root = members.find(member => member.kind === 'View')?.root
    const view = root === undefined ? null : this.#view.node(root)
    return { name: name.text, span: name, props, members: this.#members, view, styles, file: this.#file }
  }

  /** Name of the function that holds back promises after the component has left the page; null if it is not used. */
  #whileShownName: string | null = null

  #whileShown(): string {
    if (this.#whileShownName === null) {
      this.#whileShownName = this.#scope.fresh('while_shown')
      const code = `const ${this.#whileShownName} = ${this.#file.helper('use_while_shown')}()`
      this.#members.unshift({ kind: 'statement', code })
    }
    return this.#whileShownName
  }

  #declareState({ name, type, value }: State): void {
    const found = type === null ? this.#view.typeOf(value) : this.#file.program.reader.read(type)
    this.#scope.declareState(name.text, found)
  }

  #state(member: State): void {
    const { name, type, value, start } = member
    const local = this.#scope.lookup(name.text)
    if (local?.setter == null) return
    const { setter } = local
    const text = type === null ? null : this.#file.type(type)
    const known = text ?? (isEvident(local.type) ? null : this.#file.valueType(local.type))
    const state = { kind: 'state', name: name.text, variable: local.name, setter, type: known, start } as const
    if (this.#waits(value)) {
      this.#members.push({ ...state, initial: this.#empty(local.type, member), isLazy: false })
      const statements = this.#view.awaiting(() => [call(setter, this.#view.expression(value).doc).doc])
      this.#loads.push({ ...EFFECT, moment: 'load', statements, isAsync: true, start })
      return
    }
    const initial = this.#view.closed(value)
    const isLiteral = initial.isStable === true || ['List', 'Object', 'Tuple'].includes(value.kind)
    this.#members.push({ ...state, initial: initial.doc, isLazy: !isLiteral })
  }

  #derived({ name, type, value, start }: Derived): void {
    const found = type === null ? this.#view.typeOf(value) : this.#file.program.reader.read(type)
    const made = this.#view.closed(value)
    const { name: variable } = this.#scope.declare(name.text, { type: found })
    const text = type === null ? null : this.#file.type(type)
    this.#members.push({ kind: 'derived', name: name.text, variable, type: text, value: made.doc, start })
  }

  #statement(member: ComponentMember): void {
    if (isEffectful(member) || member.kind === 'View' || member.kind === 'State' || member.kind === 'Derived') return
    const codes = this.#view.written(() => this.#view.statement(member, { kind: 'drop' }))
    this.#members.push(...codes.map(code => ({ kind: 'statement', code }) as const))
  }

  #effect(member: Effectful): void {
    const { start } = member
    const body = this.#view.effectBody(member.body)
    if (member.kind === 'Lifecycle') {
      // The cleanup reads the newest values, not those of the first render.
      const isLatest = member.moment === 'cleanup' && this.#reads(member.body).length > 0
      const latest = isLatest ? this.#scope.fresh('cleanup') : null
      this.#members.push({ ...EFFECT, ...body, moment: member.moment, latest, start })
      return
    }
    const dependsOn = member.dependencies?.map(each => each.text) ?? null
    const dependencies = (dependsOn ?? this.#reads(member.body)).map(each => this.#scope.lookup(each)?.name ?? each)
    this.#members.push({ ...EFFECT, ...body, moment: 'change', dependencies, dependsOn, start })
  }

  /** Returns the component variables that code reads, in order of their first read. */
  #reads(node: Expression): string[] {
    const names = new Set<string>()
    const changed = new Set<string | null>()
    walk(node, each => {
      if (each.kind === 'Assign') changed.add(rootOf((each as Assign).target))
      return true
    })
    walk(node, each => {
      if (each.kind === 'Identifier' && this.#scope.lookup((each as Identifier).name) !== undefined) {
        names.add((each as Identifier).name)
      }
      return true
    })
    // An effect that depends on its own changes would run forever.
    return [...names].filter(name => !changed.has(name))
  }

  /** Adds a value that is fetched from the server while the component renders. Returns its name. */
  #response(...[node, translated, type, follow]: Parameters<RemoteValues>): string {
    const text = layout(translated.doc, 2)
    const known = this.#responses.get(text)
    if (known !== undefined) return known
    const name = this.#scope.fresh(`${node.callee.kind === 'Identifier' ? node.callee.name : 'server'}_result`)
    const types = this.#file.valueType(type)
    const dependencies = this.#reads(node).map(each => this.#scope.lookup(each)?.name ?? each)
    const hook = this.#file.helper(follow === null ? 'use_remote' : 'use_live')
    const empty = this.#empty(type, node)
    const fetched = [arrow('()', translated).doc, ...(follow === null ? [] : [', ', follow.doc])]
    const args: Doc = [fetched, `, [${dependencies.join(', ')}], ${empty}`]
    const code: Doc = [`const ${name} = ${hook}${types === null ? '' : `<${types}>`}(`, args, ')']
    this.#members.push({ kind: 'statement', code })
    this.#responses.set(text, name)
    return name
  }

  #empty(type: ValueType, at: State | Call): string {
    const empty = emptyValue(type)
    if (empty !== null) return empty
    const message = 'this type has no placeholder to show until the server responds; let the function return an Option'
    this.#file.program.report('web.no_value_yet', message, at)
    return 'null'
  }

  #waits(value: Expression): boolean {
    return contains(value, each => {
      const { callee } = each as Partial<Call>
      return each.kind === 'Call' && callee?.kind === 'Identifier' && this.#file.program.isAsync(callee.name)
    })
  }
}

const EFFECT = { kind: 'effect', dependencies: [], dependsOn: null, latest: null } as const

function isEffectful(member: ComponentMember): member is Effectful {
  return member.kind === 'Effect' || member.kind === 'Lifecycle'
}

/** True if TypeScript infers the type of a variable from its first value. */
function isEvident(type: ValueType): boolean {
  return isPlain(type, 'int', 'float', 'str', 'bool') || type.kind === 'any' || type.kind === 'record'
}
