import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { CHILD_ARGUMENTS } from '../../../../test/child-arguments.ts'
import { freshFile, withTables } from './with-tables.ts'

t.test('processes that write one file lose no rows', async t => {
  const file = freshFile()
  const { connection } = withTables('@table\ntype Row { writer: str  number: int }\nfn main() {}', file)
  const run = promisify(execFile)
  const script = join(import.meta.dirname, 'write-rows.ts')
  const writers = ['a', 'b'].map(name => {
    return run(process.execPath, [...CHILD_ARGUMENTS, script, file, name, '200'])
  })
  await Promise.all(writers)
  t.same(connection.rows('SELECT writer, count(*), count(DISTINCT number) FROM row GROUP BY writer'), [
    ['a', 200, 200],
    ['b', 200, 200]
  ])
})
