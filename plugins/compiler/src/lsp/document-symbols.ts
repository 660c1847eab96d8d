import { type DocumentSymbol, SymbolKind } from 'vscode-languageserver'
import type { Declaration, Field } from '../syntax/ast.ts'
import type { Name, Span } from '../syntax/node.ts'
import type { Analysis } from './analysis.ts'

const KINDS: Partial<Record<Declaration['kind'], SymbolKind>> = {
  Type: SymbolKind.Enum,
  Table: SymbolKind.Struct,
  Actor: SymbolKind.Class,
  Agent: SymbolKind.Class,
  Component: SymbolKind.Class,
  Island: SymbolKind.Class,
  V0: SymbolKind.Class,
  Environment: SymbolKind.Namespace,
  StateMachine: SymbolKind.Enum,
  Url: SymbolKind.Namespace,
  Form: SymbolKind.Interface
}

/** Returns a symbol for each declaration, with its fields, variants, handlers and states as children. */
export function documentSymbols(analysis: Analysis): DocumentSymbol[] {
  const symbol = (
    name: string,
    kind: SymbolKind,
    whole: Span,
    selected: Span,
    more: Partial<DocumentSymbol> = {}
  ): DocumentSymbol => ({
    // Editors reject a symbol without a name.
    name: name === '' ? '(no name)' : name,
    kind,
    range: analysis.range(whole),
    selectionRange: analysis.range(selected.end <= whole.end ? selected : { start: whole.start, end: whole.start }),
    ...more
  })
  const named = (name: Name, kind: SymbolKind, whole: Span): DocumentSymbol => symbol(name.text, kind, whole, name)
  const fields = (members: readonly Field[]): DocumentSymbol[] =>
    members.map(field => named(field.name, SymbolKind.Field, field))

  const childrenOf = (item: Declaration): DocumentSymbol[] => {
    switch (item.kind) {
      case 'Table':
        return fields(item.fields)
      case 'Island':
      case 'V0':
        return fields(item.props)
      case 'Type':
        if (item.definition.form === 'struct') return fields(item.definition.fields)
        if (item.definition.form === 'alias') return []
        return item.definition.variants.map(variant => named(variant.name, SymbolKind.EnumMember, variant))
      case 'Actor':
      case 'Agent':
        return item.members.flatMap(member => {
          if (member.kind === 'Handler') return [named(member.event, SymbolKind.Method, member)]
          return member.kind === 'StateField' ? [named(member.name, SymbolKind.Field, member)] : []
        })
      case 'Component':
        return item.members.flatMap(member =>
          member.kind === 'State' || member.kind === 'Derived' ? [named(member.name, SymbolKind.Field, member)] : []
        )
      case 'StateMachine':
        return item.items.flatMap(each =>
          each.kind === 'MachineState' ? [named(each.name, SymbolKind.EnumMember, each)] : []
        )
      default:
        return []
    }
  }

  return analysis.parsed.module.items.flatMap((item): DocumentSymbol[] => {
    const children = childrenOf(item)
    const more = children.length === 0 ? {} : { children }
    if (item.kind === 'HttpRoute') {
      const title = `${item.method.toUpperCase()} ${item.path.value}`
      return [symbol(title, SymbolKind.Event, item, item.path)]
    }
    if (item.kind === 'Index') return [symbol(`${item.table.text}.${item.name.text}`, SymbolKind.Key, item, item.name)]
    if (item.kind === 'AppHook') {
      const entries = item.entries.map(each => named(each.name, SymbolKind.Property, each))
      return [
        symbol(item.name?.text ?? `@${item.hook}`, SymbolKind.Event, item, item.name ?? item, { children: entries })
      ]
    }
    if (item.kind === 'Routes') return [symbol('routes', SymbolKind.Namespace, item, item)]
    if (item.kind === 'Function') {
      const detail = item.role === 'plain' ? {} : { detail: `@${item.role}` }
      return [symbol(item.name.text, SymbolKind.Function, item, item.name, detail)]
    }
    if (item.kind === 'Const') {
      const { statement } = item
      return statement.kind === 'Let' && statement.pattern.kind === 'BindingPattern'
        ? [named(statement.pattern.name, SymbolKind.Constant, item)]
        : []
    }
    if (!('name' in item) || item.name === null) return []
    return [symbol(item.name.text, KINDS[item.kind] ?? SymbolKind.Function, item, item.name, more)]
  })
}
