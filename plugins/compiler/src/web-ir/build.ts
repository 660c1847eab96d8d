import { type Hir, type HirNode, walkHir } from '@svc/contracts'
import { type Doc, layout } from '../doc/doc.ts'
import { arrow, call } from '../typescript/code.ts'
import { conditionStatements } from '../typescript/conditions.ts'
import {
  bind,
  bindState,
  type Emitter,
  type FunctionFrame,
  inFrame,
  localOf,
  newEmitter,
  PLAIN_FRAME,
  type RemoteValues,
  type Views,
  waits,
  within,
  written
} from '../typescript/emitter.ts'
import { emptyValue } from '../typescript/empty-value.ts'
import { closed, expression, functionBody, into, statement } from '../typescript/expressions.ts'
import { type Build, EmittedModule } from '../typescript/module.ts'
import { Scope } from '../typescript/scope.ts'
import { codeOfBody, usedNames } from '../typescript/used-names.ts'
import { isNamed } from '../typescript/value-types.ts'
import type { WebComponent, WebMember, WebProp, WebTree } from './tree.ts'
import { viewNode } from './view.ts'

/** Translates the components, fragments, and functions that are used as elements. `views` prints views inside of code. */
export function buildWebTree(build: Build, views: Views): WebTree {
  const components = build.program.pages.views.flatMap((view): WebComponent[] => {
    const file = new EmittedModule(build, { own: view.name.name })
    switch (view.kind) {
      case 'Component':
      case 'Fragment':
        return [buildComponent(view, file, views)]
      case 'Function':
        return [buildFunction(view, file, views)]
      default:
        return []
    }
  })
  return { ...build, components }
}

/** Builds a function whose statements return an element. */
function buildFunction(view: Hir.FunctionView, file: EmittedModule, views: Views): WebComponent {
  const { name, code: body } = view
  const e = newEmitter(file, body.locals, new Scope(null, usedNames(codeOfBody(body), file.program)))
  e.views = views
  const properties = body.params.map((local, index): Hir.Property => {
    const annotation = view.properties[index]?.annotation ?? null
    return { local, annotation, default: body.defaults[index] ?? null }
  })
  const props = buildProps(e, properties)
  const conditions = file.program.conditionsOf(name.name)
  if (conditions.some(({ kind }) => kind === 'ensure')) {
    const message = `\`@ensure\` of the component ${name.name} is not available in a browser`
    file.program.report('web.not_in_browser', message, name)
  }
  const checks = conditionStatements(e, conditions, body.params, 'null')
  const codes = [...checks, ...written(e, () => into(e, body.block, { kind: 'return' }))]
  const members = [{ kind: 'statements', nodes: body.block, codes } as const]
  return { name: name.name, props, members, view: null, styles: [], file }
}

/** Declares the properties of a component. */
function buildProps(e: Emitter, properties: readonly Hir.Property[]): WebProp[] {
  return properties.map(property => {
    const node = property.default
    const value = node === null ? null : { node, code: closed(e, node).doc }
    const { name } = localOf(e, property.local)
    const { name: variable } = bind(e, property.local)
    return { name, variable, type: e.file.declaredType(property.annotation), value }
  })
}

/** Translation of a component. */
interface Building {
  readonly e: Emitter
  /** Scope of the whole component. */
  readonly scope: Scope
  readonly members: WebMember[]
  /** Server calls for initial states, each of which runs once. */
  readonly loads: WebMember[]
  /** Names of the values that are fetched while the component renders, by their code. */
  readonly responses: Map<string, string>
}

function buildComponent(
  { kind, code: component, styles }: Hir.ComponentView,
  file: EmittedModule,
  views: Views
): WebComponent {
  // A variable of the component must not shadow a module name that the component uses.
  const scope = new Scope(null, usedNames(codeOf(component), file.program))
  const e = newEmitter(file, component.locals, scope)
  const building: Building = { e, scope, members: [], loads: [], responses: new Map() }
  let whileShown: string | null = null
  e.views = views
  e.whileShown = () => {
    whileShown ??= scope.fresh('while_shown')
    return whileShown
  }
  if (kind === 'Component') e.remoteValues = (...request) => addResponse(building, ...request)
  const props = buildProps(e, component.properties)
  for (const member of component.members) if (member.kind === 'State') bindState(e, member.local)
  for (const member of component.members) if (member.kind !== 'Effect') addValue(building, member)
  building.members.push(...building.loads)
  for (const member of component.members) if (member.kind === 'Effect') addEffect(building, member)
  const view = component.view === null ? null : viewNode(e, component.view)
  const held: WebMember[] =
    whileShown === null
      ? []
      : [{ kind: 'statements', nodes: [], codes: [`const ${whileShown} = ${file.helper('use_while_shown')}()`] }]
  const members = [...held, ...building.members]
  return { name: component.name, props, members, view, styles, file }
}

function codeOf({ properties, members, view }: Hir.Component): HirNode[] {
  const values = members.map((member): HirNode => {
    if (member.kind === 'Effect') return member.body
    return member.kind === 'State' || member.kind === 'Derived' ? member.value : member
  })
  return [...properties.map(each => each.default), ...values, view].filter(each => each !== null)
}

function addValue(building: Building, member: Exclude<Hir.Member, Hir.EffectMember>): void {
  switch (member.kind) {
    case 'State':
      addState(building, member)
      return
    case 'Derived':
      addDerived(building, member)
      return
    default: {
      const { e, members } = building
      const codes = written(e, () => statement(e, member, { kind: 'drop' }))
      members.push({ kind: 'statements', nodes: [member], codes })
    }
  }
}

function addState({ e, members, loads }: Building, member: Hir.StateMember): void {
  const { local, annotation, value, start } = member
  const { name, type } = localOf(e, local)
  const binding = e.bound.get(local)
  if (binding?.setter == null) return
  const { name: variable, setter } = binding
  const written = annotation === null ? null : e.file.declaredType(annotation)
  const printed = written ?? (isEvident(type) ? null : e.file.type(type))
  const state = { kind: 'state', name, variable, setter, type: printed, node: value, start } as const
  if (waits(e, value)) {
    members.push({ ...state, initial: emptyOf(e, type, member), isLazy: false })
    const statements = inFrame(e, { ...LATER, mayAwait: true }, () =>
      within(e, () => e.out.push(call(setter, expression(e, value).doc).doc))
    )
    loads.push({ ...EFFECT, moment: 'load', node: value, statements, isAsync: true, start })
    return
  }
  const initial = closed(e, value)
  members.push({ ...state, initial: initial.doc, isLazy: initial.isStable !== true && !LITERALS.has(value.kind) })
}

/** Values that are no work to compute again. */
const LITERALS: ReadonlySet<Hir.Expr['kind']> = new Set(['List', 'Record', 'Map', 'Struct', 'Tuple'])

/** True if TypeScript infers the type of a variable from its first value. */
function isEvident(type: Hir.Type): boolean {
  return isNamed(type, 'int', 'float', 'str', 'bool') || type.kind === 'any' || type.kind === 'record'
}

function addDerived({ e, members }: Building, { local, annotation, value, start }: Hir.DerivedMember): void {
  const made = closed(e, value)
  const { name } = localOf(e, local)
  const { name: variable } = bind(e, local)
  const type = annotation === null ? null : e.file.declaredType(annotation)
  members.push({ kind: 'derived', name, variable, type, value: { node: value, code: made.doc }, start })
}

const EFFECT = { kind: 'effect', dependencies: [], dependsOn: null, latest: null } as const

/** Code that may run after another render. */
const LATER: FunctionFrame = { ...PLAIN_FRAME, isLater: true }

function addEffect({ e, scope, members }: Building, { moment, dependencies, body, start }: Hir.EffectMember): void {
  const isAsync = waits(e, body)
  const statements = functionBody(e, body, { ...LATER, mayAwait: isAsync }, { kind: 'drop' })
  const effect = { ...EFFECT, node: body, statements, isAsync, moment, start }
  if (moment !== 'change') {
    // The cleanup reads the newest values, not those of the first render.
    const isLatest = moment === 'cleanup' && readsOf(e, body).length > 0
    members.push({ ...effect, latest: isLatest ? scope.fresh('cleanup') : null })
    return
  }
  const dependsOn = dependencies?.map(local => localOf(e, local).name) ?? null
  members.push({ ...effect, dependencies: namesOf(e, dependencies ?? readsOf(e, body)), dependsOn })
}

function namesOf(e: Emitter, locals: readonly Hir.LocalId[]): string[] {
  return locals.map(local => e.bound.get(local)?.name ?? localOf(e, local).name)
}

/** Returns the variables of the component that code reads, in order of their first read. */
function readsOf(e: Emitter, code: Hir.Expr): Hir.LocalId[] {
  const read = new Set<Hir.LocalId>()
  const changed = new Set<Hir.Place['root']>()
  walkHir(code, node => {
    if (node.kind === 'Update') changed.add(node.place.root)
    if (node.kind === 'Local' && e.bound.get(node.local)?.isOuter === true) read.add(node.local)
    return true
  })
  // An effect that depends on its own changes would run forever.
  return [...read].filter(local => !changed.has(local))
}

/** Adds a value that is fetched from the server while the component renders. Returns its name. */
function addResponse(
  { e, scope, members, responses }: Building,
  ...[node, translated, type, follow]: Parameters<RemoteValues>
): string {
  const text = layout(translated.doc, 2)
  const known = responses.get(text)
  if (known !== undefined) return known
  const name = scope.fresh(`${node.name}_result`)
  const types = e.file.type(type)
  const hook = e.file.helper(follow === null ? 'use_remote' : 'use_live')
  const fetched = [arrow('()', translated).doc, ...(follow === null ? [] : [', ', follow.doc])]
  const args: Doc = [fetched, `, [${namesOf(e, readsOf(e, node)).join(', ')}], ${emptyOf(e, type, node)}`]
  const code: Doc = [`${hook}${types === null ? '' : `<${types}>`}(`, args, ')']
  members.push({ kind: 'response', node, variable: name, code })
  responses.set(text, name)
  return name
}

function emptyOf(e: Emitter, type: Hir.Type, span: Hir.Span): string {
  const empty = emptyValue(type)
  if (empty !== null) return empty
  const message = 'this type has no placeholder to show until the server responds; let the function return an Option'
  e.file.program.report('web.no_value_yet', message, span)
  return 'null'
}
