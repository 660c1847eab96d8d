import { type Doc, hardline, join } from '../../doc/doc.ts'
import type { Component, ComponentMember, Derived, Effect, Lifecycle, Param, State } from '../../syntax/ast.ts'
import type { Call, Expression, Identifier } from '../../syntax/ast-expressions.ts'
import type { Assign } from '../../syntax/ast-statements.ts'
import { walk } from '../../syntax/walk.ts'
import { arrow, block, call, Level, operand } from '../../typescript/code.ts'
import type { EmittedModule } from '../typescript/emitted-module.ts'
import { emptyValue } from '../typescript/empty-value.ts'
import { contains } from '../typescript/needs-statements.ts'
import { rootOf } from '../typescript/newest-states.ts'
import { Scope } from '../typescript/scope.ts'
import type { RemoteValues } from '../typescript/translator.ts'
import { usedNames } from '../typescript/used-names.ts'
import { isPlain } from '../typescript/value-types.ts'
import { codeText, type ViewNode } from '../typescript/view-node.ts'
import type { Resolve } from '../typescript/view-text.ts'
import { ViewTranslator } from '../typescript/view-translator.ts'
import type { ValueType } from '../value-types/type.ts'
import { inOrderOfUse } from './order-of-use.ts'

/** Behaviour of a component without its view, with names as in the program. */
export type ComponentBehavior =
  | { readonly kind: 'state'; readonly name: string; readonly text: string }
  | { readonly kind: 'derived'; readonly name: string; readonly text: string }
  | { readonly kind: 'effect'; readonly dependencies: readonly string[]; readonly text: string }

/** A component as TypeScript. Its view is still a tree. */
export interface ComponentTranslation {
  readonly name: string
  readonly file: EmittedModule
  /** Destructured properties, with their types. */
  readonly params: readonly ComponentParam[]
  /** Statements before the view. */
  readonly statements: readonly Doc[]
  readonly view: ViewNode | null
  readonly resolve: Resolve
  readonly behaviors: readonly ComponentBehavior[]
}

export interface ComponentParam {
  /** Name of the property. */
  readonly property: string
  readonly variable: string
  readonly type: string
  /** Default value of the property; null if it is required. */
  readonly value: Doc | null
}

type Effectful = Effect | Lifecycle

/** Translates a component and its state. */
export function translateComponent(declaration: Component, file: EmittedModule): ComponentTranslation {
  return new ComponentTranslator(declaration, file).run()
}

/** Translates the properties of a component, and declares them in `scope`. */
export function translateParams(params: readonly Param[], view: ViewTranslator, scope: Scope): ComponentParam[] {
  return params.map(({ name, type, value }) => {
    const known = view.program.reader.read(type)
    const initial = value === null ? null : view.closed(value).doc
    const { name: variable } = scope.declare(name.text, { type: known })
    return { property: name.text, variable, type: view.file.type(type), value: initial }
  })
}

class ComponentTranslator {
  readonly #declaration: Component
  readonly #file: EmittedModule
  readonly #scope: Scope
  readonly #view: ViewTranslator
  readonly #statements: Doc[] = []
  readonly #behaviors: ComponentBehavior[] = []
  readonly #responses = new Map<string, string>()
  /** Server calls for initial states, each of which runs once. */
  readonly #loads: (readonly Doc[])[] = []

  constructor(declaration: Component, file: EmittedModule) {
    this.#declaration = declaration
    this.#file = file
    // A variable of the component must not shadow a module name that the component uses.
    this.#scope = new Scope(null, usedNames(declaration, file.program))
    this.#view = new ViewTranslator(file, this.#scope)
    this.#view.whileShown = () => this.#whileShown()
    this.#view.remoteValues = (...request) => this.#response(...request)
  }

  run(): ComponentTranslation {
    const { name, params, members } = this.#declaration
    const list = translateParams(params, this.#view, this.#scope)
    const values = members.filter(member => !isEffectful(member) && member.kind !== 'View')
    const states = new Set(values.filter(member => member.kind === 'State'))
    for (const member of values) if (member.kind === 'State') this.#declareState(member)
    for (const member of inOrderOfUse(values)) {
      if (states.has(member as State)) this.#state(member as State)
      else if (member.kind === 'Derived') this.#derived(member)
      else this.#statement(member)
    }
    for (const load of this.#loads) this.#hook(load, [])
    for (const member of members) if (isEffectful(member)) this.#effect(member)
    const root = members.find(member => member.kind === 'View')?.root
    const view = root === undefined ? null : this.#view.node(root)
    const order = (each: ComponentBehavior): number => this.#offsetOf(each)
    return {
      name: name.text,
      file: this.#file,
      params: list,
      statements: this.#statements,
      view,
      resolve: this.#view.resolve,
      behaviors: [...this.#behaviors].sort((a, b) => order(a) - order(b))
    }
  }

  /** Name of the function that holds back promises after the component has left the page; null if it is not used. */
  #whileShownName: string | null = null

  #whileShown(): string {
    if (this.#whileShownName === null) {
      this.#whileShownName = this.#scope.fresh('while_shown')
      this.#statements.unshift(`const ${this.#whileShownName} = ${this.#file.helper('use_while_shown')}()`)
    }
    return this.#whileShownName
  }

  /** Source offsets of the behaviours, for sorting. */
  readonly #offsets = new Map<ComponentBehavior, number>()

  #offsetOf(behavior: ComponentBehavior): number {
    return this.#offsets.get(behavior) ?? 0
  }

  #addBehavior(behavior: ComponentBehavior, { start }: ComponentMember): void {
    this.#behaviors.push(behavior)
    this.#offsets.set(behavior, start)
  }

  #declareState({ name, type, value }: State): void {
    const found = type === null ? this.#view.typeOf(value) : this.#file.program.reader.read(type)
    this.#scope.declareState(name.text, found)
  }

  #state(member: State): void {
    const { name, type, value } = member
    const local = this.#scope.lookup(name.text)
    if (local?.setter == null) return
    const text = type === null ? null : this.#file.type(type)
    const known = text ?? (isEvident(local.type) ? null : this.#file.valueType(local.type))
    const types = known === null ? '' : `<${known}>`
    const useState = this.#file.react('useState')
    const head = `const [${local.name}, ${local.setter}] = ${useState}${types}`
    if (this.#waits(value)) {
      const empty = this.#empty(local.type, member)
      this.#statements.push(`${head}(${empty})`)
      const load = this.#view.awaiting(() => [call(local.setter ?? '', this.#view.expression(value).doc).doc])
      this.#loads.push(asyncBody(load))
      this.#addBehavior({ kind: 'state', name: name.text, text: empty }, member)
      return
    }
    const initial = this.#view.closed(value)
    const isLiteral = initial.isStable === true || ['List', 'Object', 'Tuple'].includes(value.kind)
    this.#statements.push([head, '(', isLiteral ? initial.doc : arrow('()', initial).doc, ')'])
    this.#addBehavior({ kind: 'state', name: name.text, text: codeText(initial.doc) }, member)
  }

  #derived(member: Derived): void {
    const { name, type, value } = member
    const found = type === null ? this.#view.typeOf(value) : this.#file.program.reader.read(type)
    const made = this.#view.closed(value)
    const local = this.#scope.declare(name.text, { type: found })
    const annotation = type === null ? '' : `: ${this.#file.type(type)}`
    this.#statements.push([`const ${local.name}${annotation} = `, made.doc])
    this.#addBehavior({ kind: 'derived', name: name.text, text: codeText(made.doc) }, member)
  }

  #statement(member: ComponentMember): void {
    if (isEffectful(member) || member.kind === 'View' || member.kind === 'State' || member.kind === 'Derived') return
    this.#statements.push(...this.#view.written(() => this.#view.statement(member, { kind: 'drop' })))
  }

  #effect(member: Effectful): void {
    const body = this.#view.effectBody(member.body)
    const statements = body.isAsync ? asyncBody(body.statements) : body.statements
    const text = codeText(join(hardline, body.statements))
    const { name } = this.#declaration
    if (member.kind === 'Lifecycle') {
      if (member.moment === 'mount') this.#hook(statements, [])
      else this.#cleanup(statements, this.#reads(member.body).length > 0)
      this.#addBehavior({ kind: 'effect', dependencies: [`${name.text}::${member.moment}`], text }, member)
      return
    }
    const named = member.dependencies?.map(each => each.text)
    this.#hook(
      statements,
      (named ?? this.#reads(member.body)).map(each => this.#scope.lookup(each)?.name ?? each)
    )
    this.#addBehavior(
      { kind: 'effect', dependencies: (named ?? []).map(each => `${name.text}::${each}`), text },
      member
    )
  }

  /** Adds cleanup code. It reads the newest values, not those of the first render. */
  #cleanup(statements: readonly Doc[], reads: boolean): void {
    if (!reads) {
      this.#hook([['return ', arrow('()', statements).doc]], [])
      return
    }
    const name = this.#scope.fresh('cleanup')
    this.#statements.push(`const ${name} = ${this.#file.react('useRef')}(() => {})`)
    const assigned: Doc = [`${name}.current = `, arrow('()', statements).doc]
    this.#statements.push([`${this.#file.react('useEffect')}(() => `, block([assigned]), ')'])
    this.#hook([`return () => ${name}.current()`], [])
  }

  #hook(statements: readonly Doc[], dependencies: readonly string[]): void {
    const useEffect = this.#file.react('useEffect')
    this.#statements.push([`${useEffect}(() => `, block(statements), `, [${dependencies.join(', ')}])`])
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
    const text = codeText(translated.doc)
    const known = this.#responses.get(text)
    if (known !== undefined) return known
    const name = this.#scope.fresh(`${node.callee.kind === 'Identifier' ? node.callee.name : 'server'}_result`)
    const types = this.#file.valueType(type)
    const dependencies = this.#reads(node).map(each => this.#scope.lookup(each)?.name ?? each)
    const hook = this.#file.helper(follow === null ? 'use_remote' : 'use_live')
    const empty = this.#empty(type, node)
    const functions = [arrow('()', translated).doc, ...(follow === null ? [] : [follow.doc])]
    const args: Doc = [join(', ', functions), `, [${dependencies.join(', ')}], ${empty}`]
    this.#statements.push([`const ${name} = ${hook}${types === null ? '' : `<${types}>`}(`, args, ')'])
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

function isEffectful(member: ComponentMember): member is Effectful {
  return member.kind === 'Effect' || member.kind === 'Lifecycle'
}

/** True if TypeScript infers the type of a variable from its first value. */
function isEvident(type: ValueType): boolean {
  return isPlain(type, 'int', 'float', 'str', 'bool') || type.kind === 'any' || type.kind === 'record'
}

function asyncBody(statements: readonly Doc[]): Doc[] {
  return [['void ', operand(arrow('async ()', statements), Level.postfix), '()']]
}
