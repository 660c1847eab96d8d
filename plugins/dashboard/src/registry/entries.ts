import {
  type Contribution,
  DASHBOARD_ICONS,
  type DashboardAction,
  type DashboardCard,
  type DashboardInbox,
  type DashboardPage,
  type DashboardSearch,
  dashboardActions,
  dashboardCards,
  dashboardInbox,
  dashboardPages,
  dashboardSearch,
  type GenerationView,
  type ModuleView,
  type UnitView
} from '@svc/contracts'
import { errorMessage, type Point } from '@svc/plugin-sdk'
import { ROLES } from '../session/roles.ts'
import { checkBindings, checkLink, checkView, operationOf, paramsOf, type ViewScope } from './check-view.ts'
import { choiceAt, fieldsOf, listAt, Mistake, numberAt, textAt, textsAt } from './mistake.ts'
import { fieldShape, shapeOf } from './schema-path.ts'

/** Contribution with the plugin that made it. */
export interface Entry<A> {
  readonly item: A
  readonly unit: UnitView
}

/** Contribution with a mistake. */
export interface BrokenEntry {
  readonly plugin: string
  readonly point: string
  /** Path, title or operation of the contribution. */
  readonly entry: string
  readonly reason: string
}

/** Contributions to the console in one generation. */
export interface Entries {
  readonly generation: number
  readonly pages: readonly Entry<DashboardPage>[]
  readonly cards: readonly Entry<DashboardCard>[]
  readonly actions: readonly Entry<DashboardAction>[]
  readonly inbox: readonly Entry<DashboardInbox>[]
  readonly search: readonly Entry<DashboardSearch>[]
  readonly broken: readonly BrokenEntry[]
}

/** Reads the contributions of a generation. One with a mistake is listed in `broken` and nowhere else. Never throws. */
export function readEntries(generation: GenerationView): Entries {
  const broken: BrokenEntry[] = []
  const pages = generation.items(dashboardPages)
  const pathsOf = (plugin: string): Set<string> =>
    new Set(
      pages.flatMap(({ item, unit }) => (unit.name === plugin && typeof item?.path === 'string' ? item.path : []))
    )
  const scopeOf = ({ name }: UnitView): ViewScope => ({
    operations: generation.operations,
    plugin: name,
    pages: pathsOf(name),
    params: new Set()
  })
  const read = <A>(
    at: Point<A>,
    nameOf: (item: A) => unknown,
    check: (item: A, scope: ViewScope, unit: UnitView) => void
  ): Entry<A>[] =>
    generation.items(at).flatMap(({ item, unit }: Contribution<A>) => {
      try {
        check(item, scopeOf(unit), unit)
        return [{ item, unit }]
      } catch (error) {
        const name = nameOf((item ?? {}) as A)
        const entry = typeof name === 'string' ? name.slice(0, 200) : '(without a name)'
        broken.push({ plugin: unit.name, point: at.id, entry, reason: errorMessage(error) })
        return []
      }
    })
  return {
    generation: generation.id,
    pages: read(dashboardPages, ({ path }) => path, checkPage),
    cards: read(dashboardCards, ({ title }) => title, checkCard),
    actions: read(dashboardActions, ({ on, label }) => `${on}: ${label}`, checkAction),
    inbox: read(dashboardInbox, ({ operation }) => operation, checkInbox),
    search: read(dashboardSearch, ({ operation }) => operation, checkSearch),
    broken
  }
}

const SECTIONS = ['run', 'build', 'observe', 'system'] as const
const SEGMENT = /^:?[a-z0-9][a-z0-9._-]*$/i

function checkPage(page: DashboardPage, scope: ViewScope, unit: UnitView): void {
  const optional = ['summary', 'icon', 'order', 'role', 'under']
  const fields = fieldsOf(page, '', ['path', 'title', 'section', 'view'], optional)
  const path = textAt(fields.path, 'path')
  if (path !== unit.name && !path.startsWith(`${unit.name}/`))
    throw new Mistake('path', `it does not begin with the plugin's name: write ${unit.name}/${path}`)
  const wrong = path.split('/').find(segment => !SEGMENT.test(segment))
  if (wrong !== undefined)
    throw new Mistake('path', `the segment ${JSON.stringify(wrong)} is not a word of letters, digits and hyphens`)
  textAt(fields.title, 'title')
  if (fields.summary !== undefined) textAt(fields.summary, 'summary')
  if (fields.icon !== undefined) choiceAt(fields.icon, 'icon', DASHBOARD_ICONS)
  choiceAt(fields.section, 'section', SECTIONS)
  if (fields.order !== undefined) numberAt(fields.order, 'order')
  checkRole(fields.role)
  if (fields.under !== undefined) textAt(fields.under, 'under')
  if ((page.view as { readonly kind?: unknown } | null)?.kind === 'module') checkModule(fields.view, scope, unit)
  else checkView(fields.view, 'view', { ...scope, params: new Set(paramsOf(path)) })
}

function checkModule(view: unknown, scope: ViewScope, unit: UnitView): void {
  const { entry, uses } = fieldsOf(view, 'view', ['kind', 'entry', 'uses'])
  const name = textAt(entry, 'view.entry')
  if (!unit.pages.has(name)) {
    const names = [...unit.pages.keys()]
    const known = names.length === 0 ? '' : `; it has ${names.join(', ')}`
    throw new Mistake('view.entry', `svc.pages in the package of ${unit.name} has no file ${name}${known}`)
  }
  for (const [index, id] of textsAt(uses, 'view.uses').entries()) operationOf(id, `view.uses[${index}]`, scope)
}

function checkCard(card: DashboardCard, scope: ViewScope): void {
  const fields = fieldsOf(card, '', ['title', 'size', 'view'], ['order', 'link'])
  textAt(fields.title, 'title')
  choiceAt(fields.size, 'size', ['s', 'm', 'l'])
  if (fields.order !== undefined) numberAt(fields.order, 'order')
  checkView(fields.view, 'view', scope)
  checkLink(fields.link, 'link', scope, null)
}

function checkAction(action: DashboardAction, scope: ViewScope): void {
  const fields = fieldsOf(action, '', ['on', 'label', 'operation', 'bind'], ['ask', 'when', 'role', 'tone'])
  textAt(fields.on, 'on')
  textAt(fields.label, 'label')
  const operation = operationOf(fields.operation, 'operation', scope)
  // The row may be of any view with this kind.
  checkBindings(fields.bind, 'bind', operation, scope, 'unknown')
  const input = shapeOf(operation.input)
  for (const [index, name] of textsAt(fields.ask ?? [], 'ask').entries())
    if (fieldShape(input, name, operation.input) === null)
      throw new Mistake(`ask[${index}]`, `${operation.id} has no input field ${name}`)
  if (fields.when !== undefined) {
    const when = fieldsOf(fields.when, 'when', ['field', 'in'])
    textAt(when.field, 'when.field')
    listAt(when.in, 'when.in')
  }
  checkRole(fields.role)
  if (fields.tone !== undefined) choiceAt(fields.tone, 'tone', ['primary', 'danger'])
}

function checkInbox(source: DashboardInbox, scope: ViewScope): void {
  checkSource(source, scope, 'items', [])
}

function checkSearch(source: DashboardSearch, scope: ViewScope): void {
  checkSource(source, scope, 'results', ['text'])
}

/** Checks an operation that the console calls for a list. */
function checkSource(
  source: DashboardInbox | DashboardSearch,
  scope: ViewScope,
  list: string,
  inputs: readonly string[]
): void {
  const { operation } = fieldsOf(source, '', ['operation'])
  const { id, effect, input, output } = operationOf(operation, 'operation', scope)
  if (effect !== 'read') throw new Mistake('operation', `${id} has the effect ${effect}, not read`)
  for (const name of inputs)
    if (fieldShape(shapeOf(input), name, input) === null)
      throw new Mistake('operation', `${id} has no input field ${name}`)
  const missing = ((input.required ?? []) as readonly string[]).find(name => !inputs.includes(name))
  if (missing !== undefined) throw new Mistake('operation', `${id} requires the input field ${missing}`)
  if (fieldShape(shapeOf(output), list, output) === null)
    throw new Mistake('operation', `the output of ${id} has no field ${list}`)
}

function checkRole(role: unknown): void {
  if (role !== undefined) choiceAt(role, 'role', ROLES)
}

/** Returns the module view of a page; null for a declarative page. */
export function moduleOf({ view }: DashboardPage): ModuleView | null {
  return view.kind === 'module' ? view : null
}
