/** An effect of a function, in addition to computing its result. */
export type Effect =
  | 'net'
  /** Reads files. */
  | 'fs'
  /** Changes files. An effect row that lists `fs` covers it. */
  | 'fs_write'
  | 'time'
  | 'random'
  | 'process'
  | 'env'
  | 'secret'
  | 'db_read'
  | 'db_write'
  | 'raw_sql'
  | 'spawn'
  | 'llm'

export const EFFECTS: readonly Effect[] = [
  'net',
  'fs',
  'fs_write',
  'time',
  'random',
  'process',
  'env',
  'secret',
  'db_read',
  'db_write',
  'raw_sql',
  'spawn',
  'llm'
]
