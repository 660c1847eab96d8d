import type { HirPredicate } from '@svc/contracts'
import { NONE, Tagged, type Value } from '../interpreter/value.ts'
import { inPart } from '../wire/mismatch.ts'
import { wrong } from '../wire/plain-codecs.ts'
import { type Binder, type Condition, conditionOf } from './predicate-sql.ts'
import type { TableShape, TextSearch, VectorSearch } from './table-shape.ts'

/** A database feature that a search needs. */
export type SearchNeed = 'fts' | 'vector'

/** Parts of a search query. */
export interface SearchPlan {
  readonly needs: readonly SearchNeed[]
  /** SQL before SELECT. */
  readonly before: Condition | null
  /** SQL after the table. */
  readonly join: string
  readonly condition: Condition
  /** Sorts the best match first. */
  readonly order: Condition
}

/** Searched columns, each with the index of its value among the operation's values. */
interface SearchTerms {
  readonly words: { readonly column: string; readonly index: number }[]
  readonly near: { readonly search: VectorSearch; readonly index: number }[]
}

// No program column can have these names.
const ROW = '"~row"'
const SCORE = '"~score"'
const HITS = '"~hits"'

/** Candidates of each kind in a hybrid search. */
const CANDIDATES = 200
/** Constant of reciprocal rank fusion: dampens the weight of the first ranks (Cormack et al., 2009). */
const FUSION = 60

/**
 * Plans a search. Text columns are searched by `contains`, or by equality if there is none; vectors by both operators.
 * Returns null if the predicate contains no search. `limitIndex` is the index of the limit among the values; null if
 * the limit does not apply to the nearest rows.
 */
export function searchPlan(
  shape: TableShape,
  predicate: HirPredicate,
  mode: 'Fts' | 'Vector' | 'Hybrid',
  limitIndex: number | null
): SearchPlan | null {
  const found = searchTerms(shape, predicate, mode)
  const { text } = shape
  const [nearest] = found.near
  const hasWords = text !== null && found.words.length > 0
  if (hasWords && nearest !== undefined) return hybridPlan(shape, predicate, text, found, nearest)
  if (hasWords) return words(shape, predicate, text, found)
  return nearest === undefined ? null : vector(shape, predicate, nearest, limitIndex)
}

/** Collects the search terms of a predicate. */
function searchTerms(shape: TableShape, predicate: HirPredicate, mode: 'Fts' | 'Vector' | 'Hybrid'): SearchTerms {
  const contained: { column: string; index: number }[] = []
  const equal: { column: string; index: number }[] = []
  const near: { search: VectorSearch; index: number }[] = []
  conditionOf(predicate, shape, (kind, column, index) => {
    const search = shape.vectors.find(each => each.column === column)
    if (search !== undefined && mode !== 'Fts') near.push({ search, index })
    if (mode !== 'Vector' && shape.text?.columns.has(column.name)) {
      const list = kind === 'Contains' ? contained : equal
      list.push({ column: column.name, index })
    }
    return null
  })
  return { words: contained.length > 0 ? contained : equal, near }
}

function words(shape: TableShape, predicate: HirPredicate, { table }: TextSearch, found: SearchTerms): SearchPlan {
  const matches = (index: number): Condition | null => {
    const word = found.words.find(each => each.index === index)
    if (word === undefined) return null
    const sql = `${shape.id.quoted} IN (SELECT rowid FROM ${table} WHERE ${table} MATCH ?)`
    return { sql, binders: [values => matchOf(word.column, values[index] as Value)] }
  }
  return {
    needs: ['fts'],
    before: {
      sql: `WITH ${HITS}(${ROW}, ${SCORE}) AS MATERIALIZED (SELECT rowid, rank FROM ${table} WHERE ${table} MATCH ?)`,
      binders: [anyMatch(found)]
    },
    join: ` LEFT JOIN ${HITS} ON ${ROW} = ${shape.id.quoted}`,
    condition: conditionOf(predicate, shape, (_, __, index) => matches(index)),
    order: { sql: `${SCORE} IS NULL, ${SCORE}, ${shape.id.quoted}`, binders: [] }
  }
}

function vector(
  shape: TableShape,
  predicate: HirPredicate,
  { search, index }: SearchTerms['near'][number],
  limitIndex: number | null
): SearchPlan {
  const { column, distance } = search
  const value: Binder = values => shape.encode(column, values[index] as Value)
  // With other conditions, the index is not used: its nearest rows may not satisfy them.
  const only = 'And' in predicate && predicate.And.length === 1 ? (predicate.And[0] as HirPredicate) : predicate
  const isAlone = 'Eq' in only || 'Contains' in only
  // Nor with row rules, which exclude some of the nearest rows.
  const isIndexed = search.index !== null && isAlone && limitIndex !== null && shape.rules === null
  const nearest: Condition = isIndexed
    ? {
        sql: `${shape.id.quoted} IN (SELECT id FROM vector_top_k('${search.index}', ?, ?))`,
        binders: [value, values => values[limitIndex] as number]
      }
    : { sql: `${column.quoted} IS NOT NULL`, binders: [] }
  return {
    needs: ['vector'],
    before: null,
    join: '',
    condition: conditionOf(predicate, shape, (_, __, rankColumn) => (rankColumn === index ? nearest : null)),
    order: { sql: `${distance}(${column.quoted}, ?), ${shape.id.quoted}`, binders: [value] }
  }
}

/** Plans a hybrid search, which ranks rows by the sum of their reciprocal ranks (RRF). */
function hybridPlan(
  shape: TableShape,
  predicate: HirPredicate,
  { table }: TextSearch,
  found: SearchTerms,
  { search, index }: SearchTerms['near'][number]
): SearchPlan {
  const { column, distance } = search
  const [id, rankColumn] = [shape.id.quoted, '"~place"']
  const ranked = (from: string): string => {
    return `SELECT ${ROW}, row_number() OVER (ORDER BY ${SCORE}) AS ${rankColumn} FROM (${from} ORDER BY 2 LIMIT ${CANDIDATES})`
  }
  const byWords = ranked(`SELECT rowid AS ${ROW}, rank AS ${SCORE} FROM ${table} WHERE ${table} MATCH ?`)
  const far = `${distance}(${column.quoted}, ?)`
  const byNearness = ranked(
    `SELECT ${id} AS ${ROW}, ${far} AS ${SCORE} FROM ${shape.sql} WHERE ${column.quoted} IS NOT NULL`
  )
  const places = new Set([index, ...found.words.map(word => word.index)])
  const everywhere: Condition = { sql: '1', binders: [] }
  return {
    needs: ['fts', 'vector'],
    before: {
      sql: `WITH ${HITS} AS MATERIALIZED (SELECT ${ROW}, sum(1.0 / (${FUSION} + ${rankColumn})) AS ${SCORE} FROM (SELECT * FROM (${byWords}) UNION ALL SELECT * FROM (${byNearness})) GROUP BY ${ROW})`,
      binders: [anyMatch(found), values => shape.encode(column, values[index] as Value)]
    },
    join: ` JOIN ${HITS} ON ${ROW} = ${id}`,
    condition: conditionOf(predicate, shape, (_, __, each) => (places.has(each) ? everywhere : null)),
    order: { sql: `${SCORE} DESC, ${id}`, binders: [] }
  }
}

/** Returns the full-text query of all rows that match in any searched column, for ranking. */
function anyMatch({ words: all }: SearchTerms): Binder {
  return values => all.map(({ column, index }) => `(${matchOf(column, values[index] as Value)})`).join(' OR ')
}

/** Returns a full-text query in which all words must match. Words are quoted, so they are not search operators. */
function matchOf(column: string, value: Value): string {
  const word = value instanceof Tagged && value.tag === 'Some' ? value.fields[0] : value
  if (word !== NONE && typeof word !== 'string') {
    try {
      return wrong('str', word as Value)
    } catch (thrown) {
      throw inPart(thrown, column)
    }
  }
  const text = word === NONE ? '' : (word as string)
  const parts = text.split(/\s+/u).filter(word => /[\p{L}\p{N}]/u.test(word))
  const phrases = parts.map(word => `"${word.replaceAll('"', '""')}"`)
  return phrases.length === 0 ? '""' : `"${column}" : (${phrases.join(' AND ')})`
}
