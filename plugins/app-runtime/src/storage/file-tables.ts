/** The table of stored files. Their content is in the blob store. */
export const FILES_TABLE = 'program_files'

/** Names the part of the blob store that belongs to this database. */
export const FILE_STORE_TABLE = 'program_file_store'

/** Statements that create the tables of stored files. */
export const filesStatements: readonly string[] = [
  `CREATE TABLE IF NOT EXISTS ${FILES_TABLE} (
  id TEXT PRIMARY KEY,
  program TEXT NOT NULL,
  name TEXT NOT NULL,
  content_type TEXT NOT NULL,
  size INTEGER NOT NULL,
  sha256 TEXT NOT NULL,
  created_at_ms INTEGER NOT NULL
) WITHOUT ROWID`,
  `CREATE INDEX IF NOT EXISTS ${FILES_TABLE}_program ON ${FILES_TABLE} (program, created_at_ms)`,
  `CREATE TABLE IF NOT EXISTS ${FILE_STORE_TABLE} (id TEXT NOT NULL)`,
  `INSERT INTO ${FILE_STORE_TABLE} (id) SELECT lower(hex(randomblob(8)))
  WHERE NOT EXISTS (SELECT 1 FROM ${FILE_STORE_TABLE})`
]

export const INSERT_FILE = `INSERT INTO ${FILES_TABLE} (id, program, name, content_type, size, sha256, created_at_ms)
  VALUES (?, ?, ?, ?, ?, ?, ?)`

export const FIND_FILE = `SELECT id, name, content_type, size FROM ${FILES_TABLE} WHERE id = ?`

/** End of the names of the triggers that check the files of inserted rows, after the names of table and column. */
export const FILE_TRIGGER_SUFFIX = '_file_on_insert'

/** Finds tables and triggers of all columns that hold files, of all programs with the database. */
export const FIND_FILE_COLUMNS = `SELECT tbl_name, name FROM sqlite_master
  WHERE type = 'trigger' AND substr(name, -${FILE_TRIGGER_SUFFIX.length}) = '${FILE_TRIGGER_SUFFIX}'`

export const LIST_FILES = `SELECT id, name, content_type, size FROM ${FILES_TABLE} WHERE program = ?
  ORDER BY created_at_ms, id`

/** Returns SQL that reads a column with a file id as JSON with what is known of the file. */
export function fileColumnSql(table: string, column: string): string {
  const fields = "'id', f.id, 'name', f.name, 'content_type', f.content_type, 'size', f.size"
  return `(SELECT json_object(${fields}) FROM ${FILES_TABLE} AS f WHERE f.id = ${table}.${column})`
}
