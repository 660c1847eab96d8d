import type { Component, Declaration, HttpRoute, Module, Type as TypeSyntax } from '../syntax/ast.ts'
import type {
  Call,
  Element,
  Expression,
  Identifier,
  MatchArm,
  Member,
  ObjectEntry,
  Spawn,
  StructLiteral
} from '../syntax/ast-expressions.ts'
import type { ConstructorPattern } from '../syntax/ast-statements.ts'
import { bare, entryValue } from '../syntax/entries.ts'
import type { Name, Span } from '../syntax/node.ts'
import { type AnyNode, walk } from '../syntax/walk.ts'
import { COLUMN_MODIFIERS, isDbMember } from '../types/db/chain.ts'
import { boundNames, type ModuleName } from '../types/module-names.ts'
import { resolved, type Type } from '../types/type.ts'
import type { TypedModule } from '../types/typed-module.ts'
import type { BodyPosition, BodyRule, Meaning } from './body-rule.ts'
import { declaredSymbols } from './declared-symbols.ts'
import type { LocalName } from './scopes.ts'
import type { LanguageSymbol, Occurrence, SymbolKind } from './symbol.ts'
import { SymbolIndex } from './symbol-index.ts'
import { walkBodies } from './walk-bodies.ts'

/** Table operations whose argument is a record of columns. */
const TAKE_RECORDS: ReadonlySet<string> = new Set(['insert', 'filter', 'where', 'update'])
/** Chain methods whose arguments are column names. */
const TAKE_COLUMNS: ReadonlySet<string> = new Set([...COLUMN_MODIFIERS, 'include'])

const LOCAL_KINDS: Readonly<Record<LocalName['kind'], SymbolKind>> = {
  parameter: 'parameter',
  variable: 'variable',
  state: 'state',
  implicit: 'variable'
}

/**
 * Resolves every word of a module to its symbol. Fields and handlers are resolved only if expression types are passed.
 */
export function indexSymbols(module: Module, types: TypedModule | null): SymbolIndex {
  const indexer = new Indexer(module, types)
  for (const item of module.items) indexer.structure(item)
  const names = walkBodies(module, [indexer])
  for (const item of module.items) indexer.references(item, names)
  return new SymbolIndex(indexer.occurrences, indexer.unresolved)
}

class Indexer implements BodyRule {
  readonly occurrences: Occurrence[] = []
  readonly unresolved: Span[] = []
  readonly #types: TypedModule | null
  readonly #symbols = new Map<Name, LanguageSymbol>()
  /** For patterns of one arm that bind the same name: each later binding, with the first one. */
  readonly #sameAs = new Map<Name, Name>()
  readonly #typeNames = new Map<string, LanguageSymbol>()
  readonly #shorthands = new Set<number>()

  constructor(module: Module, types: TypedModule | null) {
    this.#types = types
    for (const symbol of declaredSymbols(module)) {
      this.#symbols.set(symbol.definition, symbol)
      this.#addOccurrence(symbol.definition, symbol, { isDefinition: true })
      const isType = ['type', 'table', 'actor', 'agent', 'machine', 'import'].includes(symbol.kind)
      if (isType && !this.#typeNames.has(symbol.name)) this.#typeNames.set(symbol.name, symbol)
    }
  }

  /** Collects facts about a declaration that are needed before its bodies are walked. */
  structure(item: Declaration): void {
    walk(item, node => {
      if (node.kind === 'MatchArm') this.#join(node as MatchArm)
      if (node.kind === 'ObjectEntry') {
        const { key, value } = node as ObjectEntry
        if (value === null) this.#shorthands.add(key.start)
      }
      return true
    })
  }

  bind({ kind, name }: LocalName, { item }: BodyPosition): void {
    if (name.end <= name.start) return
    const first = this.#sameAs.get(name) ?? name
    const symbol = this.#symbols.get(first) ?? {
      kind: LOCAL_KINDS[kind],
      name: name.text,
      definition: first,
      node: { kind: 'Name', start: name.start, end: name.end },
      declaration: item
    }
    this.#symbols.set(first, symbol)
    this.#symbols.set(name, symbol)
    this.#addOccurrence(name, symbol, { isDefinition: true })
  }

  identifier(node: Identifier, meaning: Meaning, _place: BodyPosition): void {
    if (meaning === null) {
      if (node.name !== '_' && node.name !== 'db') this.unresolved.push(node)
      return
    }
    this.#resolve(node, meaning, this.#shorthands.has(node.start) ? 'shorthand' : 'word')
  }

  constructorPattern({ name }: ConstructorPattern, position: BodyPosition): void {
    this.#resolve(name, position.meaning(name.text))
  }

  spawn({ target }: Spawn, position: BodyPosition): void {
    const named = target.kind === 'Call' ? target.callee : target
    if (named.kind === 'Identifier') this.#resolve(named, position.meaning(named.name))
  }

  call({ callee, args }: Call, _piped: 0 | 1, position: BodyPosition): void {
    if (callee.kind !== 'Identifier') return
    const meaning = position.meaning(callee.name)
    const params = meaning?.kind === 'module' ? (meaning.entry.signature?.params ?? []) : []
    for (const { name } of args) {
      const param = name === null ? undefined : params.find(each => each.name.text === name.text)
      if (name !== null && param !== undefined) this.#name(name, param.name)
    }
  }

  /** Resolves words of a declaration outside values: types, tags, tables, columns, fields. */
  references(item: Declaration, names: ReadonlyMap<string, ModuleName>): void {
    const generics = 'generics' in item ? item.generics : []
    const value = (name: Name): void => this.#name(name, names.get(name.text)?.name)
    walk(item, node => {
      switch (node.kind) {
        case 'NamedType':
          this.#type(node as TypeSyntax, generics)
          break
        case 'Struct':
          this.#struct(node as StructLiteral)
          break
        case 'Element':
          this.#element(node as Element, names)
          break
        case 'RouteEntry': {
          const { component, options } = node as AnyNode & { component: Name; options: readonly { value: Name }[] }
          value(component)
          for (const option of options) value(option.value)
          break
        }
        case 'RouteFallback':
          value((node as AnyNode & { component: Name }).component)
          break
        case 'FormSubmit':
          value((node as AnyNode & { handler: Name }).handler)
          break
        case 'AppHookEntry':
          this.#hookEntry((node as AnyNode & { value: Expression }).value, value)
          break
        case 'Transition': {
          const { from, target } = node as AnyNode & { from: Name; target: Name }
          value(from)
          value(target)
          break
        }
        case 'HttpRoute':
          this.#pathParts(node as HttpRoute)
          break
        case 'Member':
          this.#member(node as Member)
          break
        case 'Call':
          this.#columns(node as Call)
          this.#message(node as Call)
      }
      return true
    })
    if (item.kind === 'Component') this.#dependencies(item)
    if (item.kind !== 'Index') return
    const table = this.#typeNames.get(item.table.text)
    if (table === undefined) return
    this.#addOccurrence(item.table, table)
    for (const column of item.columns) this.#field(column, column.text, table.declaration)
  }

  #join({ patterns }: MatchArm): void {
    const [first, ...others] = patterns.map(boundNames)
    for (const name of others.flat()) {
      const same = first?.find(each => each.text === name.text)
      if (same !== undefined) this.#sameAs.set(name, same)
    }
  }

  #resolve(at: Span, meaning: Meaning, form: Occurrence['form'] = 'word'): void {
    if (meaning?.kind === 'local') this.#name(at, meaning.local.name, form)
    if (meaning?.kind === 'module') this.#name(at, meaning.entry.name, form)
  }

  #name(at: Span, definition: Name | undefined, form: Occurrence['form'] = 'word'): void {
    const symbol = definition === undefined ? undefined : this.#symbols.get(definition)
    if (symbol !== undefined) this.#addOccurrence(at, symbol, { form })
  }

  #type(type: TypeSyntax, generics: readonly Name[]): void {
    if (type.kind !== 'NamedType' || type.path.length !== 1) return
    const [name] = type.path
    if (name === undefined) return
    const generic = generics.find(each => each.text === name.text)
    if (generic !== undefined) this.#name(name, generic)
    else this.#addOccurrence(name, this.#typeNames.get(name.text))
  }

  /** Resolves the functions of an app hook entry: one function, or one for each link of a record. */
  #hookEntry(written: Expression, value: (name: Name) => void): void {
    const expression = bare(written)
    if (expression.kind === 'Identifier') value({ start: expression.start, end: expression.end, text: expression.name })
    if (expression.kind === 'Object') for (const entry of expression.entries) this.#hookEntry(entryValue(entry), value)
  }

  #struct({ name, entries }: StructLiteral): void {
    const type = this.#typeNames.get(name.text)
    this.#addOccurrence(name, type)
    for (const { key } of entries) if ('text' in key && type !== undefined) this.#field(key, key.text, type.declaration)
  }

  #element({ tag, attributes }: Element, names: ReadonlyMap<string, ModuleName>): void {
    const entry = names.get(tag.text)
    if (entry === undefined) return
    this.#name(tag, entry.name)
    const { declaration } = entry
    const known: readonly { readonly name: Name }[] =
      'params' in declaration ? (declaration.params ?? []) : 'props' in declaration ? declaration.props : []
    for (const { name } of attributes) this.#name(name, known.find(each => each.name.text === name.text)?.name)
  }

  #dependencies({ members }: Component): void {
    const states = members.filter(member => member.kind === 'State' || member.kind === 'Derived')
    for (const member of members) {
      if (member.kind !== 'Effect') continue
      for (const name of member.dependencies ?? []) {
        this.#name(name, states.find(state => state.name.text === name.text)?.name)
      }
    }
  }

  #member(member: Member): void {
    if (isDbMember(member)) {
      const table = this.#typeNames.get(member.property.text)
      if (table?.kind === 'table') this.#addOccurrence(member.property, table)
      return
    }
    const type = this.#types?.typeOf(member.object)
    const declaration = type === undefined ? null : declarationOf(type)
    if (declaration !== null) this.#field(member.property, member.property.text, declaration)
  }

  /** Resolves the parameters in a route's path to the declared parameters of the same name. */
  #pathParts({ path: { start, end, value }, params }: HttpRoute): void {
    // With an escape, offsets into the value do not match offsets into the source.
    if (end - start !== value.length + 2) return
    for (const { index, 0: part } of value.matchAll(PATH_PART)) {
      const name = part.replace(/\W/g, '')
      const from = start + 1 + index + part.indexOf(name)
      const param = params?.find(each => each.name.text === name)
      this.#name({ start: from, end: from + name.length }, param?.name)
    }
  }

  /** Resolves the handler in `h.send("event")` or `h ! event()`. */
  #message({ callee, args: [event] }: Call): void {
    if (callee.kind !== 'Member' || callee.property.text !== 'send' || event?.value.kind !== 'String') return
    const type = this.#types?.typeOf(callee.object)
    const actor = type?.kind === 'named' && type.def.kind === 'actor' ? type.def.declaration : null
    if (actor === null) return
    const { value } = event
    const isQuoted = value.end - value.start > value.value.length
    this.#field(value, value.value, actor, isQuoted ? 'string' : 'word')
  }

  /** Resolves the columns in a call on `db.T`. */
  #columns({ callee, args }: Call): void {
    if (callee.kind !== 'Member') return
    const { text } = callee.property
    if (!TAKE_RECORDS.has(text) && !TAKE_COLUMNS.has(text) && text !== 'aggregate') return
    const table = tableOfChain(callee.object)
    const declaration = table === null ? undefined : this.#typeNames.get(table)?.declaration
    if (declaration?.kind !== 'Table') return
    for (const { value } of args) {
      if (TAKE_RECORDS.has(text)) this.#keys(bare(value), declaration)
      else if (text === 'aggregate') this.#aggregated(bare(value), declaration)
      else for (const each of columnNames(bare(value))) this.#column(each, declaration)
    }
  }

  #keys(record: Expression, table: Declaration): void {
    if (record.kind === 'List') for (const item of record.items) this.#keys(bare(item), table)
    if (record.kind !== 'Object') return
    for (const { key, value } of record.entries) {
      const text = 'text' in key ? key.text : key.value
      if (value !== null && ['and', 'or', 'not'].includes(text)) this.#keys(bare(value), table)
      else if (value !== null) this.#field(key, text, table)
    }
  }

  /** Resolves the columns in `{ total: { sum: "amount" } }`. */
  #aggregated(record: Expression, table: Declaration): void {
    if (record.kind !== 'Object') return
    for (const { value } of record.entries) {
      const operation = value === null ? null : bare(value)
      if (operation?.kind !== 'Object') continue
      for (const { value: column } of operation.entries) if (column !== null) this.#column(bare(column), table)
    }
  }

  #column(expression: Expression, table: Declaration): void {
    if (expression.kind === 'Identifier') this.#field(expression, expression.name, table)
    if (expression.kind === 'String') this.#field(expression, expression.value, table, 'string')
  }

  #field(at: Span, name: string, declaration: Declaration, form: Occurrence['form'] = 'word'): void {
    this.#name(
      at,
      fieldsOf(declaration).find(each => each.text === name),
      form
    )
  }

  #addOccurrence(
    at: Span,
    symbol: LanguageSymbol | undefined,
    rest: Partial<Pick<Occurrence, 'isDefinition' | 'form'>> = {}
  ) {
    if (symbol === undefined || at.end <= at.start) return
    const { isDefinition = false, form = 'word' } = rest
    this.occurrences.push({ start: at.start, end: at.end, symbol, isDefinition, form })
  }
}

const PATH_PART = /:[a-z_]\w*|\{[a-z_]\w*\}/gi

/** Returns the declaration that has the fields or handlers of a type. */
function declarationOf(type: Type): Declaration | null {
  const known = resolved(type)
  if (known.kind === 'named') return known.def.declaration
  return known.kind === 'answer' ? declarationOf(known.value) : null
}

function fieldsOf(declaration: Declaration): readonly Name[] {
  switch (declaration.kind) {
    case 'Table':
      return declaration.fields.map(({ name }) => name)
    case 'Type':
      return declaration.definition.form === 'struct' ? declaration.definition.fields.map(({ name }) => name) : []
    case 'Actor':
    case 'Agent':
      return declaration.members.flatMap(member => (member.kind === 'Handler' ? [member.event] : []))
    default:
      return []
  }
}

/** Returns the table at the beginning of a chain. */
function tableOfChain(expression: Expression): string | null {
  let at = expression
  while (at.kind === 'Call' && at.callee.kind === 'Member') at = at.callee.object
  return isDbMember(at) ? at.property.text : null
}

function columnNames(expression: Expression): readonly Expression[] {
  return expression.kind === 'List' ? expression.items.map(bare) : [expression]
}
