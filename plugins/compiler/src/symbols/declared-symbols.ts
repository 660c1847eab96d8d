import type { Declaration, Field, Module } from '../syntax/ast.ts'
import type { Name } from '../syntax/node.ts'
import type { AnyNode } from '../syntax/walk.ts'
import { boundNames, importedNames } from '../types/module-names.ts'
import type { LanguageSymbol, SymbolKind } from './symbol.ts'

const KINDS: Partial<Record<Declaration['kind'], SymbolKind>> = {
  Function: 'function',
  ExternFunction: 'function',
  Activity: 'activity',
  Workflow: 'workflow',
  Type: 'type',
  Table: 'table',
  Actor: 'actor',
  Agent: 'agent',
  Component: 'component',
  Island: 'component',
  V0: 'component',
  Fragment: 'component',
  Form: 'component',
  Environment: 'environment',
  StateMachine: 'machine',
  Url: 'url',
  AppHook: 'component'
}

/** Returns the symbols declared outside bodies: declarations, fields, variants, handlers and states. */
export function declaredSymbols({ items }: Module): LanguageSymbol[] {
  return items.flatMap(symbolsOf)
}

function symbolsOf(declaration: Declaration): LanguageSymbol[] {
  const symbol = (kind: SymbolKind, definition: Name, node: AnyNode = declaration): LanguageSymbol => ({
    kind,
    name: definition.text,
    definition,
    node,
    declaration
  })
  const fields = (members: readonly Field[]): LanguageSymbol[] =>
    // An unnamed payload has a name of zero width.
    members.filter(({ name }) => name.end > name.start).map(field => symbol('field', field.name, field))
  const kind = KINDS[declaration.kind]
  const named = 'name' in declaration && declaration.name !== null ? declaration.name : null
  const own = kind === undefined || named === null || named.text === '' ? [] : [symbol(kind, named)]
  switch (declaration.kind) {
    case 'Import':
      return declaration.items.flatMap(item => importedNames(item).map(name => symbol('import', name, item)))
    case 'Type': {
      const generics = declaration.generics.map(name => symbol('generic', name))
      const { definition } = declaration
      if (definition.form === 'alias') return [...own, ...generics]
      if (definition.form === 'struct') return [...own, ...generics, ...fields(definition.fields)]
      const variants = definition.variants.flatMap(variant => [
        symbol('constructor', variant.name, variant),
        ...fields(variant.fields)
      ])
      return [...own, ...generics, ...variants]
    }
    case 'Function':
      return [...own, ...declaration.generics.map(name => symbol('generic', name))]
    case 'ExternFunction':
      return [...own, ...declaration.params.map(param => symbol('parameter', param.name, param))]
    case 'Table':
      return [...own, ...fields(declaration.fields)]
    case 'Island':
    case 'V0':
      return [...own, ...fields(declaration.props)]
    case 'Actor':
    case 'Agent': {
      const handlers = declaration.members.flatMap(member =>
        member.kind === 'Handler' ? [symbol('handler', member.event, member)] : []
      )
      return [...own, ...handlers]
    }
    case 'StateMachine': {
      const states = declaration.items.filter(item => item.kind === 'MachineState')
      return [...own, ...states.map(state => symbol('constructor', state.name, state))]
    }
    case 'Const': {
      const { statement } = declaration
      if (statement.kind !== 'Let') return []
      return boundNames(statement.pattern).map(name => symbol('constant', name, statement))
    }
    default:
      return own
  }
}
