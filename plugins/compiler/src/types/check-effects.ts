import type { DiagnosticCode } from '../diagnostics/codes.ts'
import { type Diagnostic, type DiagnosticDetails, diagnostic } from '../diagnostics/diagnostic.ts'
import type { FunctionDeclaration, Module } from '../syntax/ast.ts'
import type { Name } from '../syntax/node.ts'
import { declaredEffects } from './declared-effects.ts'
import { type Cause, type Deed, type EffectTable, WRITES } from './effects.ts'

/** Effect rows may name these effects, or the wider one that covers them. */
const WIDER: Readonly<Record<string, string>> = { db_read: 'db', db_write: 'db', raw_sql: 'db', fs_write: 'fs' }

/** Deeds that no effect row lists. */
const UNLISTED: ReadonlySet<Deed> = new Set<Deed>(['mutation', 'actor_state'])

const CODES: Readonly<Record<string, DiagnosticCode>> = {
  net: 'vox/effect/missing-net-decl',
  fs: 'vox/effect/missing-fs-decl',
  time: 'vox/effect/missing-time-decl',
  random: 'vox/effect/missing-random-decl',
  secret: 'vox/effect/missing-secret-decl',
  llm: 'vox/effect/missing-llm-decl'
}

/** Reports queries that write, effects that a function has but does not declare, and effects of pure functions. */
export function checkEffects({ items }: Module, table: EffectTable): Diagnostic[] {
  return items.flatMap(item => {
    if (item.kind !== 'Function') return []
    const query = item.role === 'query' ? writingQuery(item, table) : []
    return [...query, ...wrongRow(item), ...undeclared(item, table), ...impure(item, table)]
  })
}

function writingQuery(query: FunctionDeclaration, table: EffectTable): Diagnostic[] {
  const first = [...table.deedsOf(query)].find(([deed]) => WRITES.has(deed))
  if (first === undefined) return []
  const [deed, cause] = first
  const related = []
  let last: Cause = cause
  for (let at: Cause | undefined = cause; at !== undefined && related.length < MAX_RELATED; ) {
    related.push({ span: at.span, message: `it ${at.action} here` })
    last = at
    at = at.through === null ? undefined : table.deedsOf(at.through).get(deed)
  }
  const message = `the query \`${query.name.text}\` must only read, but ${last === cause ? '' : 'indirectly '}${last.action}`
  const fixes =
    query.roleDecorator === null
      ? []
      : [{ label: 'make it a mutation', span: query.roleDecorator, replacement: '@mutation' }]
  return [diagnostic('lint.query_not_readonly', message, query.name, { related, fixes })]
}

const MAX_RELATED = 10

interface Listed {
  /** The name that messages suggest for an effect row. */
  readonly wide: string
  readonly narrow: string
  readonly cause: Cause
}

function* listedEffects(fn: FunctionDeclaration, table: EffectTable): Generator<Listed> {
  for (const [deed, cause] of table.deedsOf(fn)) {
    if (UNLISTED.has(deed)) continue
    const narrow = deed.startsWith(DECLARES) ? deed.slice(DECLARES.length) : deed
    yield { wide: WIDER[narrow] ?? narrow, narrow, cause }
  }
}

const DECLARES = 'declares '

function undeclared(fn: FunctionDeclaration, table: EffectTable): Diagnostic[] {
  const row = declaredEffects(fn)
  if (row === null) return []
  const last = row.at(-1)
  const covered = new Set(row.map(({ text }) => text))
  const found: Diagnostic[] = []
  for (const { wide, narrow, cause } of listedEffects(fn, table)) {
    if (covered.has(wide) || covered.has(narrow)) continue
    covered.add(wide)
    const fix: DiagnosticDetails =
      last === undefined
        ? {}
        : { fixes: [{ label: `add ${wide}`, span: { start: last.end, end: last.end }, replacement: `, ${wide}` }] }
    const message = `\`${fn.name.text}\` ${cause.action}, but does not declare the effect \`${wide}\``
    found.push(diagnostic(CODES[wide] ?? 'vox/effect/missing-declaration', message, cause.span, fix))
  }
  return found
}

function impure(fn: FunctionDeclaration, table: EffectTable): Diagnostic[] {
  if (!fn.decorators.some(({ name }) => name.text === 'pure')) return []
  // An effect that a pure function declares is reported by `wrongRow`.
  const told = new Set((declaredEffects(fn) ?? []).map(({ text }) => text))
  const found: Diagnostic[] = []
  for (const { wide, narrow, cause } of listedEffects(fn, table)) {
    // Own spawns are reported with the calls of pure functions.
    if (told.has(wide) || told.has(narrow) || (wide === 'spawn' && cause.through === null)) continue
    told.add(wide)
    const message = `\`${fn.name.text}\` is marked as pure and ${cause.action}, which has the effect \`${wide}\``
    found.push(diagnostic('vox/effect/pure-violation', message, cause.span))
  }
  return found
}

function wrongRow(fn: FunctionDeclaration): Diagnostic[] {
  const row = declaredEffects(fn) ?? []
  const found: Diagnostic[] = []
  const first = new Map<string, Name>()
  for (const effect of row) {
    const other = first.get(effect.text)
    if (other === undefined) first.set(effect.text, effect)
    else {
      const related = [{ span: other, message: 'declared here first' }]
      found.push(
        diagnostic('E_EFFECT_DUPLICATE', `the effect \`${effect.text}\` is declared twice`, effect, { related })
      )
    }
  }
  const pure = fn.decorators.find(({ name }) => name.text === 'pure')
  const [effect] = row
  if (pure !== undefined && effect !== undefined) {
    const message = `\`${fn.name.text}\` is marked as pure, but declares the effect \`${effect.text}\``
    const related = [{ span: effect, message: 'the effect is declared here' }]
    found.push(diagnostic('E_EFFECT_PURE_CONFLICT', message, pure, { related }))
  }
  return found
}
