import { words } from './word.ts'

/** Values that are no functions of the table of natives. */
export const VALUE_WORDS = words(`
db | db: Database | The tables of this program: \`db.Task.all()\`.
std | std | The standard library.
`)
