// Child process that inserts rows into a database file, to which other processes write, too.
import { FileConnection } from '@svc/plugin-database/testing'
import { programFrom } from '../run-program.ts'
import { tablesOf } from './with-tables.ts'

const [file = '', name = '', count = '0'] = process.argv.slice(2)
const PROGRAM = `
@table
type Row { writer: str  number: int }
fn add(writer: str, number: int) { db.Row.insert({ writer: writer, number: number }) }
`
const connection = new FileConnection({ file, busyTimeoutMs: 20_000, synchronous: 'normal' })
const { call, database } = tablesOf(programFrom(PROGRAM), connection, file)
for (let number = 0; number < Number(count); number += 2) {
  database.transaction('write', () => {
    call('add', name, number)
    call('add', name, number + 1)
  })
}
connection.close()
