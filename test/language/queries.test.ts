import { join } from 'node:path'
import type { Program, ThreadConnection } from '@svc/contracts'
import { FileConnection } from '@svc/plugin-database/testing'
import t from 'tap'
import { makeTables, tablesOf } from '../../plugins/app-runtime/test/database/with-tables.ts'
import { programFrom } from '../../plugins/app-runtime/test/run-program.ts'
import { Choices } from './choices.ts'
import { generateQueries } from './generate-queries.ts'
import { SqlJsConnection } from './sqljs-connection.ts'

/** Number of programs, which are the same in every run. Set SVC_TEST_QUERIES for more. */
const PROGRAMS = Number(process.env.SVC_TEST_QUERIES ?? 150)

t.setTimeout(Math.max(600_000, PROGRAMS * 1_000))

/** Returns what `main` prints on a database, and the code of its failure. */
function trace(program: Program, connection: ThreadConnection): readonly string[] {
  makeTables(connection, program)
  const tables = tablesOf(program, connection, 'a database')
  try {
    tables.call('main')
    return tables.lines
  } catch (error) {
    const { code, message } = error as { readonly code?: string; readonly message: string }
    return [...tables.lines, `failed: ${code ?? message}`]
  } finally {
    connection.close()
  }
}

t.test('generated queries find the same in libSQL and in sql.js', async t => {
  const folder = t.testdir()
  let files = 0
  const differs = async (source: string): Promise<string | null> => {
    const program = programFrom(source)
    const file = join(folder, `${files++}.db`)
    const native = trace(program, new FileConnection({ file, busyTimeoutMs: 2_000, synchronous: 'normal' }))
    const portable = trace(program, await SqlJsConnection.open())
    const length = Math.max(native.length, portable.length)
    for (let line = 0; line < length; line++) {
      if (native[line] !== portable[line]) return `libSQL: ${native[line]}\nsql.js: ${portable[line]}`
    }
    lines += length
    failures += native.at(-1)?.startsWith('failed: ') === true ? 1 : 0
    return null
  }
  let [lines, failures] = [0, 0]
  for (let seed = 0; seed < PROGRAMS; seed++) {
    const source = generateQueries(Choices.seeded(seed))
    const found = await differs(source)
    if (found !== null) t.fail(`seed ${seed}: ${found}\n--- program:\n${source}`)
  }
  t.ok(lines > 10 * PROGRAMS, `${lines} lines were compared`)
  t.ok(failures < PROGRAMS / 10, `${failures} programs failed`)
})
