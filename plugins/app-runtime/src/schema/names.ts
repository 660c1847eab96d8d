/** Name of the table in which the rows of a declared table are. */
export function tableName(declared: string): string {
  return declared.toLowerCase()
}

/** Full-text table over columns of a table; its rowids are the `_id` of that table's rows. */
export function searchTableName(table: string): string {
  return `${table}_fts`
}

export function indexName(table: string, index: string): string {
  return `idx_${table}_${index}`
}

/** An index that `vector_top_k` takes the name of. */
export function vectorIndexName(table: string, index: string): string {
  return `idx_${table}_${index}_vector`
}

/** A name of the schema as SQL takes it, whatever it consists of. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** A text as SQL takes it; it must not hold U+0000. */
export function textLiteral(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}
