/** What a function may do, besides computing its result. */
export type Effect =
  | 'net'
  | 'fs'
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
