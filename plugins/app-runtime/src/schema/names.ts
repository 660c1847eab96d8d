/** Returns the database name of a declared table. */
export function tableName(declared: string): string {
  return declared.toLowerCase()
}

/** Returns the name of the full-text table of a table; its rowid is that table's `_id`. */
export function searchTableName(table: string): string {
  return `${table}_fts`
}

export function indexName(table: string, index: string): string {
  return `idx_${table}_${index}`
}

/** Returns the name of a vector index, for `vector_top_k`. */
export function vectorIndexName(table: string, index: string): string {
  return `idx_${table}_${index}_vector`
}

/** Quotes an SQL identifier. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** Quotes an SQL string, which must not contain U+0000. */
export function textLiteral(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}
