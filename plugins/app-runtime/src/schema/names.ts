/** Database name of a declared table. */
export function tableName(declared: string): string {
  return declared.toLowerCase()
}

/** Full-text table over columns of a table; its rowids are that table's `_id`. */
export function searchTableName(table: string): string {
  return `${table}_fts`
}

export function indexName(table: string, index: string): string {
  return `idx_${table}_${index}`
}

/** An index for `vector_top_k`. */
export function vectorIndexName(table: string, index: string): string {
  return `idx_${table}_${index}_vector`
}

/** Quotes an SQL identifier. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** Quotes an SQL text; it must not contain U+0000. */
export function textLiteral(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}
