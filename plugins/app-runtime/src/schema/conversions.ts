import type { ColumnKind, ColumnType } from './column-type.ts'

/** Conversion between two column types. All functions return SQL, and take a quoted column. */
export interface Conversion {
  value(column: string): string
  /** Condition: a non-NULL value can be converted. */
  possible(column: string): string
  /** Condition: the conversion loses nothing. */
  exact(column: string): string
}

const always = (): string => '1'
const keep: Conversion = { value: column => column, possible: always, exact: always }
/** Keeps the stored values, although they may not be valid values of the new type. */
const keepBlindly: Conversion = { ...keep, exact: () => '0' }

const isWhole = (column: string): string => `CAST(CAST(${column} AS INTEGER) AS TEXT) = ${column}`
const isReal = (column: string): string => `CAST(CAST(${column} AS REAL) AS TEXT) = ${column}`
/** Matches a decimal number with exactly one point. */
const isFixed = (column: string): string =>
  `${column} GLOB '*[0-9].[0-9]*' AND ltrim(${column}, '-') NOT GLOB '*[^0-9.]*' ` +
  `AND length(${column}) - length(replace(${column}, '.', '')) = 1 AND length(${column}) - length(ltrim(${column}, '-')) <= 1`
/** 2^53: a float represents all smaller integers exactly. */
const LARGEST_EXACT = '9007199254740992'

const toReal: Conversion = {
  value: column => `CAST(${column} AS REAL)`,
  possible: always,
  exact: column => `${column} BETWEEN -${LARGEST_EXACT} AND ${LARGEST_EXACT}`
}
const toText: Conversion = { value: column => `CAST(${column} AS TEXT)`, possible: always, exact: always }
const textToWhole: Conversion = { value: column => `CAST(${column} AS INTEGER)`, possible: isWhole, exact: isWhole }
const toTruth: Conversion = {
  value: column => `${column} <> 0`,
  possible: always,
  exact: column => `${column} IN (0, 1)`
}

const CONVERSIONS: Partial<Record<ColumnKind, Partial<Record<ColumnKind, Conversion>>>> = {
  int: { id: keep, bool: toTruth, float: toReal, str: toText, dec: toText },
  id: { int: keep, float: toReal, str: toText, dec: toText },
  bool: {
    int: keep,
    float: toReal,
    str: {
      ...toText,
      value: column => `CASE WHEN ${column} IS NULL THEN NULL WHEN ${column} = 0 THEN 'false' ELSE 'true' END`
    }
  },
  float: {
    int: {
      value: column => `CAST(${column} AS INTEGER)`,
      possible: column => `abs(${column}) < 9.2e18`,
      exact: column => `CAST(${column} AS INTEGER) = ${column}`
    },
    str: { ...toText, exact: column => `CAST(CAST(${column} AS TEXT) AS REAL) = ${column}` },
    dec: {
      ...toText,
      possible: column => isFixed(`CAST(${column} AS TEXT)`),
      exact: column => `CAST(CAST(${column} AS TEXT) AS REAL) = ${column}`
    }
  },
  str: {
    char: { ...keep, possible: column => `length(${column}) = 1`, exact: column => `length(${column}) = 1` },
    int: textToWhole,
    id: textToWhole,
    float: {
      value: column => `CAST(${column} AS REAL)`,
      possible: column => `(${isWhole(column)} OR ${isReal(column)})`,
      exact: column => `(${isWhole(column)} OR ${isReal(column)})`
    },
    dec: {
      ...keep,
      possible: column => `(${isWhole(column)} OR (${isFixed(column)}))`,
      exact: always
    },
    bool: {
      value: column => `${column} = 'true'`,
      possible: column => `${column} IN ('true', 'false')`,
      exact: always
    }
  },
  char: { str: keep, int: textToWhole },
  dec: {
    str: keep,
    int: textToWhole,
    float: {
      value: column => `CAST(${column} AS REAL)`,
      possible: always,
      exact: column => `(${isWhole(column)} OR ${isReal(column)})`
    }
  },
  json: { str: keep, json: keepBlindly },
  file: { str: keep }
}

/** Returns the conversion between two types; null if no value can be converted. */
export function conversion(from: Pick<ColumnType, 'kind' | 'declared'>, to: ColumnType): Conversion | null {
  if (from.declared === to.declared) return keep
  if (from.kind === to.kind && to.kind !== 'json' && to.kind !== 'vector') return keep
  return CONVERSIONS[from.kind]?.[to.kind] ?? null
}
