import { type Diagnostic, diagnostic } from '../diagnostics/diagnostic.ts'
import type { Declaration, Module } from '../syntax/ast.ts'
import type { Name } from '../syntax/node.ts'
import type { AnyNode } from '../syntax/walk.ts'
import type { NodeRule } from './node-rule.ts'

/** Namespaces of declarations, by kind. Names must be unique in a namespace. */
const GROUPS: Partial<Record<Declaration['kind'], string>> = {
  Function: 'function',
  ExternFunction: 'function',
  Workflow: 'function',
  Activity: 'function',
  Type: 'type',
  Table: 'type',
  Actor: 'type',
  Agent: 'type',
  StateMachine: 'type',
  Component: 'component',
  Island: 'component',
  V0: 'component',
  Fragment: 'component',
  Environment: 'environment',
  Url: 'url',
  Form: 'form'
}

/** Reports duplicate names of declarations, fields, handlers, variants, states, transitions and addresses. */
export function checkDeclaredTwice({ items }: Module): Diagnostic[] {
  const groups = new Map<string, Name[]>()
  for (const item of items) {
    const group = GROUPS[item.kind]
    if (group === undefined || !('name' in item) || item.name === null) continue
    const names = groups.get(group) ?? []
    names.push(item.name)
    groups.set(group, names)
  }
  const variants = items.flatMap(item =>
    item.kind === 'Type' && item.definition.form === 'variants' ? item.definition.variants.map(({ name }) => name) : []
  )
  return [
    ...[...groups].flatMap(([group, names]) => repeated(names, `a ${group}`)),
    // The expected type at a use may select one of the variants, so this is only a warning.
    ...repeated(variants, 'a variant').map((each): Diagnostic => ({ ...each, severity: 'warning' })),
    ...items.flatMap(insideOf)
  ]
}

function insideOf(item: Declaration): Diagnostic[] {
  const found: Diagnostic[] = []
  const named = (members: readonly { readonly name: Name }[], kind: string): void => {
    found.push(
      ...repeated(
        members.map(({ name }) => name),
        kind
      )
    )
  }
  switch (item.kind) {
    case 'Table':
      named(item.fields, 'a column')
      break
    case 'Type':
      if (item.definition.form === 'struct') named(item.definition.fields, 'a field')
      if (item.definition.form === 'variants')
        for (const { fields } of item.definition.variants) named(fields, 'a field')
      break
    case 'Island':
    case 'V0':
      named(item.props, 'a property')
      break
    case 'Actor':
    case 'Agent': {
      const handlers = item.members.flatMap(member => (member.kind === 'Handler' ? [{ name: member.event }] : []))
      named(handlers, 'a handler')
      named(
        item.members.flatMap(member => (member.kind === 'StateField' ? [member] : [])),
        'a field'
      )
      break
    }
    case 'StateMachine': {
      const transitions = item.items.filter(each => each.kind === 'Transition')
      named(
        item.items.filter(each => each.kind === 'MachineState'),
        'a state'
      )
      for (const state of new Set(transitions.map(({ from }) => from.text)))
        named(
          transitions.flatMap(({ from, fromArgs, event }) =>
            from.text === state && fromArgs === null ? [{ name: event }] : []
          ),
          `a transition from \`${state}\` on`
        )
      break
    }
    case 'Url':
      named(item.entries, 'an address')
      break
    case 'Form':
      named(
        item.items.filter(each => each.kind === 'FormField'),
        'a field'
      )
      break
    case 'Component':
      named(
        item.members.filter(member => member.kind === 'State' || member.kind === 'Derived'),
        'a state'
      )
  }
  return found
}

/** Reports parameters that share a name. */
export class ParametersRule implements NodeRule {
  /** Kinds with named parameters. */
  readonly kinds = [
    'Activity',
    'Actor',
    'Component',
    'ExternFunction',
    'Fragment',
    'Function',
    'Handler',
    'HttpRoute',
    'Lambda',
    'MachineState',
    'Transition',
    'UrlEntry',
    'Workflow'
  ]
  readonly found: Diagnostic[] = []

  node(node: AnyNode): void {
    const { params } = node as { readonly params?: readonly { readonly name: Name }[] | null }
    if (params === undefined || params === null || params.length < 2) return
    this.found.push(
      ...repeated(
        params.map(({ name }) => name),
        'a parameter'
      )
    )
  }
}

function repeated(names: readonly Name[], kind: string): Diagnostic[] {
  const first = new Map<string, Name>()
  return names.flatMap(name => {
    if (name.text === '' || name.text === '_') return []
    const other = first.get(name.text)
    if (other === undefined) {
      first.set(name.text, name)
      return []
    }
    const related = [{ span: other, message: 'declared here first' }]
    return [diagnostic('typecheck.duplicate_name', `there is already ${kind} \`${name.text}\``, name, { related })]
  })
}
