import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Program, ThreadConnection } from '@svc/contracts'
import { FileConnection } from '@svc/plugin-database/testing'
import t from 'tap'
import { ProgramDatabase } from '#database'
import { Interpreter, type Value } from '#interpreter'
import { changesStatements, createTable, desiredSchema } from '#schema'
import { filesStatements } from '#storage'
import { hostOf, LIMITS, programFrom } from '../run-program.ts'

const folder = mkdtempSync(join(tmpdir(), 'program-'))
t.teardown(() => rm(folder, { recursive: true }))
let files = 0

/** Returns an unused file path in a folder of the test. */
export function freshFile(): string {
  files += 1
  return join(folder, `${files}.db`)
}

/** Compiles a program, and creates its tables in a file. */
export interface Tables {
  readonly database: ProgramDatabase
  readonly connection: ThreadConnection
  readonly lines: string[]
  call(name: string, ...args: Value[]): Value
}

/** Creates the tables of a program on an empty connection. */
export function makeTables(connection: ThreadConnection, program: Program): void {
  const { tables, isLive, hasFiles } = desiredSchema(program, { fts: true, vector: true })
  if (isLive) for (const sql of changesStatements) connection.execute(sql)
  if (hasFiles) for (const sql of filesStatements) connection.execute(sql)
  for (const { name, columns, search, objects } of tables) {
    connection.execute(createTable(name, columns))
    if (search !== null) connection.execute(search.sql)
    for (const { sql } of objects) connection.execute(sql)
  }
}

export function withTables(text: string, file = freshFile()): Tables {
  const program = programFrom(text)
  const connection = new FileConnection({ file, busyTimeoutMs: 2000, synchronous: 'normal' })
  t.teardown(() => connection.close())
  makeTables(connection, program)
  return tablesOf(program, connection, file)
}

/** Returns an interpreter of a program whose tables exist in the database of a connection. */
export function tablesOf(program: Program, connection: ThreadConnection, location: string): Tables {
  const database = new ProgramDatabase({ connection, location, capabilities: { fts: true, vector: true } })
  const lines: string[] = []
  const interpreter = new Interpreter(program, { ...hostOf(lines), database })
  return { database, connection, lines, call: (name, ...args) => interpreter.call(name, args, LIMITS) }
}
