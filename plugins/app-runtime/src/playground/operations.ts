import { defineOperation, t } from '@svc/plugin-sdk'

/** Maximum characters of a program. */
const MAX_SOURCE = 262_144

const nullableText = (description: string) => t.nullable(t.string({ description }))
const place = (description: string) => t.nullable(t.integer({ minimum: 1, description }))

export const playgroundRun = defineOperation({
  id: 'app.playground',
  summary: 'Run a program against a temporary database, without any capability',
  description:
    'Runs top-level statements or the function main. The program has no access to the file system, the network, processes, the environment or secrets. Its tables are in a database in memory, and files of std.files in a temporary folder; both end with it.',
  input: t.object({
    source: t.string({ maxLength: MAX_SOURCE, description: 'Source text of the program.' })
  }),
  output: t.object({
    ok: t.boolean({ description: 'True if the program ended without a failure or an Error.' }),
    ran: t.boolean({ description: 'False if the program has errors, so that it did not run.' }),
    output: t.array(t.object({ kind: t.enum(['print', 'debug', 'info', 'warn', 'error']), text: t.string() }), {
      description: 'Printed lines, and lines of std.log by their level.'
    }),
    cut: t.boolean({ description: 'True if lines are omitted, because the output is too long.' }),
    result: nullableText('Returned value of main; null without one.'),
    exit: t.nullable(t.integer({ description: 'Exit code that the program chose.' })),
    error: t.nullable(
      t.object({
        code: nullableText('Code of the failure; null for an Error that main returned.'),
        message: t.string(),
        line: place('Line of the failure.'),
        column: place('Column of the failure.'),
        hint: nullableText('What to do.'),
        calls: t.array(t.string({ description: 'Function and position of a call on the stack.' }))
      })
    ),
    tables: t.nullable(
      t.array(
        t.object({
          name: t.string(),
          columns: t.array(t.string()),
          rows: t.array(t.record(t.unknown()), { description: 'The first rows.' }),
          total: t.integer({ description: 'Number of rows, at most 100,000.' })
        })
      ),
      { description: 'Null if they were lost with the program.' }
    ),
    ms: t.number()
  }),
  errors: {},
  effect: 'write',
  // Each run is a thread with its own heap.
  concurrency: 2,
  expose: { rpc: true }
})
