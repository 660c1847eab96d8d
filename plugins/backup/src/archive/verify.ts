import { createWriteStream } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { Keys } from '../age/keys.ts'
import { damaged } from '../errors.ts'
import type { Databases } from './databases.ts'
import type { Manifest } from './manifest.ts'
import { readArchive } from './read.ts'

/** SQLite files begin with it. */
const SQLITE = 'SQLite format 3\0'

export interface VerifyOptions {
  readonly file: string
  readonly keys: Keys
  readonly databases: Databases
  readonly onFile: (path: string) => void
  readonly signal: AbortSignal
}

/**
 * Reads a whole archive, compares every file with its SHA-256, and opens every database. Returns its manifest. Throws
 * `BKP_DAMAGED` and the errors of reading.
 */
export async function verifyArchive({ file, keys, databases, onFile, signal }: VerifyOptions): Promise<Manifest> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-verify-'))
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const visit = async (path: string, pieces: AsyncIterable<Buffer>): Promise<void> => {
      onFile(path)
      const iterator = pieces[Symbol.asyncIterator]()
      const first = await iterator.next()
      const rest = { [Symbol.asyncIterator]: () => iterator }
      if (first.done === true || !first.value.subarray(0, SQLITE.length).equals(Buffer.from(SQLITE, 'latin1'))) {
        for await (const _ of rest);
        return
      }
      const copy = join(folder, 'copy.db')
      const all = async function* () {
        yield first.value
        yield* rest
      }
      await pipeline(all, createWriteStream(copy, { flags: 'wx', mode: 0o600 }), { signal })
      await checkDatabase(databases, copy, path)
      for (const suffix of ['', '-wal', '-shm']) await rm(`${copy}${suffix}`, { force: true })
    }
    return await readArchive(file, keys, { onFile: ({ path }, pieces) => visit(path, pieces) }, signal)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Throws `BKP_DAMAGED` if a database cannot be opened or is not intact. `path`: its path in the archive. */
export async function checkDatabase(databases: Databases, file: string, path: string): Promise<void> {
  let problem: string | null
  try {
    problem = await databases.check(file)
  } catch (error) {
    if ((error as { code?: string }).code !== 'DBS_CORRUPT') throw error
    problem = 'it cannot be opened'
  }
  if (problem !== null) throw damaged(`the database ${path} is damaged: ${problem}`)
}
