import type { SqlParameter, SqlValue } from '@svc/contracts'
import { isSvcError } from '@svc/plugin-sdk'
import type { ProgramDatabase } from '../../database/program-database.ts'
import { fileIdOf, fileValue, isFileId, typeOfName } from '../../storage/file-info.ts'
import { fileOf } from '../../storage/file-storage.ts'
import { FILES_TABLE, FIND_FILE, INSERT_FILE, LIST_FILES } from '../../storage/file-tables.ts'
import { FileUrls } from '../../storage/file-urls.ts'
import {
  FILE_QUESTIONS,
  type FilesSetup,
  type PutReply,
  type PutRequest,
  type ReadRequest
} from '../../storage/storage-answers.ts'
import type { Bridge } from '../../threads/bridge.ts'
import { durationOf } from '../duration.ts'
import { fail, RunError } from '../failure.ts'
import type { Machine } from '../machine.ts'
import { listArg, type Native, textArg, unrepeatable } from '../native.ts'
import { typeName } from '../type-name.ts'
import { error, isInt, NONE, ok, some, type Value } from '../value.ts'

/** Longest time until the path of a file expires, in milliseconds. */
const MAX_URL_MS = 100 * 365 * 86_400_000

/** Name of the files in error messages. */
const FILES = 'std.files'
const NOWHERE = `${FILES}: the program stores no files here`

interface Files {
  readonly bridge: Bridge
  readonly database: ProgramDatabase
  readonly setup: FilesSetup
  readonly urls: FileUrls
}

/** The playground has no storage: the main thread does not know the question there. */
function setupOf(bridge: Bridge): FilesSetup {
  try {
    return bridge.ask(FILE_QUESTIONS.setup, null) as FilesSetup
  } catch (thrown) {
    if (!isSvcError(thrown, 'RUN_UNSUPPORTED')) throw thrown
    return fail('RUN_UNSUPPORTED', NOWHERE)
  }
}

const setups = new WeakMap<Bridge, Pick<Files, 'setup' | 'urls'>>()

function filesOf({ host: { bridge, database } }: Machine): Files {
  if (bridge === null || database === null) return fail('RUN_UNSUPPORTED', NOWHERE)
  let known = setups.get(bridge)
  if (known === undefined) {
    const setup = setupOf(bridge)
    known = { setup, urls: new FileUrls(setup.keys) }
    setups.set(bridge, known)
  }
  return { bridge, database, ...known }
}

const files = (
  minArgs: number,
  maxArgs: number,
  run: (files: Files, args: readonly Value[], machine: Machine) => Value
): Native => unrepeatable(minArgs, maxArgs, (args, machine) => run(filesOf(machine), args, machine))

/** Returns a Result: failures of the storage are Errors. */
function attempt(run: () => Value): Value {
  try {
    return ok(run())
  } catch (thrown) {
    const isFailure = isSvcError(thrown) || thrown instanceof RunError
    if (isFailure && /^RUN_(?:FILE|STORAGE)/.test(thrown.code)) return error(thrown.message)
    throw thrown
  }
}

function put({ bridge, database, setup }: Files, request: PutRequest, machine: Machine): Value {
  return attempt(() => {
    const file = bridge.ask(FILE_QUESTIONS.put, request, machine.millisecondsLeft()) as PutReply
    const { id, name, contentType, size, sha256 } = file
    // In the transaction of the call: content without a row is removed later.
    const values: SqlParameter[] = [id, setup.program, name, contentType, size, sha256, Math.floor(machine.host.now())]
    database.execute(FILES, INSERT_FILE, values)
    return fileValue(file)
  })
}

function typeArg(args: readonly Value[], name: string): string {
  return args[2] === undefined ? typeOfName(name) : textArg(args, 2)
}

function read({ bridge, database }: Files, file: Value, machine: Machine): Uint8Array {
  const id = idArg(file)
  if (database.row(FILES, FIND_FILE, [id]) === null) fail('RUN_FILE_UNKNOWN', `there is no file ${id}`)
  const request: ReadRequest = { id, maxBytes: machine.maxBytes }
  return bridge.ask(FILE_QUESTIONS.read, request, machine.millisecondsLeft()) as Uint8Array
}

function idArg(file: Value | undefined): string {
  const id = fileIdOf(file ?? null)
  return id ?? fail('RUN_TYPE', `expected a File, found ${typeName(file ?? null)}`)
}

function byteOf(value: Value): number {
  const byte = isInt(value) ? Number(value) : -1
  return byte >= 0 && byte <= 255
    ? byte
    : fail('RUN_ARGUMENTS', `a byte is an int from 0 to 255, found ${String(value)}`)
}

function fileOfRow(row: readonly SqlValue[]): Value {
  return fileValue(fileOf(row))
}

/** Functions of `std.files`. Rows are part of the transaction of the call; content is shared by all threads. */
export const STORED_FILES: Readonly<Record<string, Native>> = {
  'std.files.put': files(2, 3, (each, args, machine) => {
    const name = textArg(args, 0)
    const content = Buffer.from(textArg(args, 1), 'utf8')
    return put(each, { name, contentType: typeArg(args, name), content }, machine)
  }),
  'std.files.put_bytes': files(2, 3, (each, args, machine) => {
    const name = textArg(args, 0)
    const content = Uint8Array.from(listArg(args, 1), byteOf)
    return put(each, { name, contentType: typeArg(args, name), content }, machine)
  }),
  'std.files.get': files(1, 1, ({ database }, args) => {
    const id = textArg(args, 0)
    const row = isFileId(id) ? database.row(FILES, FIND_FILE, [id]) : null
    return row === null ? NONE : some(fileOfRow(row))
  }),
  'std.files.read': files(1, 1, (each, args, machine) =>
    attempt(() => {
      const bytes = read(each, args[0] ?? null, machine)
      machine.allocate(2 * bytes.length)
      return Buffer.from(bytes).toString('utf8')
    })
  ),
  'std.files.read_bytes': files(1, 1, (each, args, machine) =>
    attempt(() => {
      const bytes = read(each, args[0] ?? null, machine)
      machine.allocate(8 * bytes.length)
      return [...bytes]
    })
  ),
  'std.files.url': files(1, 2, ({ urls }, args, machine) => {
    const [file = null] = args
    const id = idArg(file)
    const name = file instanceof Map ? file.get('name') : undefined
    const duration = args[1] === undefined ? durationOf('1h') : durationOf(args[1])
    if (duration <= 0) fail('RUN_ARGUMENTS', 'the path of a file must expire in the future')
    if (duration > MAX_URL_MS) fail('RUN_ARGUMENTS', 'the path of a file must expire within 100 years')
    return urls.sign(id, typeof name === 'string' ? name : 'file', machine.host.now() + duration)
  }),
  'std.files.delete': files(1, 1, ({ bridge, database }, args, machine) =>
    attempt(() => {
      const id = idArg(args[0])
      const unused = bridge.ask(FILE_QUESTIONS.unused, null, machine.millisecondsLeft()) as string
      const { changes } = database.execute(FILES, `DELETE FROM ${FILES_TABLE} WHERE id = ?${unused}`, [id])
      machine.charge(1)
      if (changes === 0) fail('RUN_FILE_UNKNOWN', `the file ${id} does not exist, or a row refers to it`)
      return null
    })
  ),
  'std.files.list': files(0, 0, ({ database, setup }, _, machine) => {
    const rows = database.rows(FILES, LIST_FILES, [setup.program])
    machine.charge(rows.length)
    return rows.map(fileOfRow)
  })
}
