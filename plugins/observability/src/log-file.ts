import {
  closeSync,
  existsSync,
  fstatSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeSync
} from 'node:fs'
import { readFile } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { makePrivateFolder } from '@svc/plugin-sdk/folders'

export interface LogFileOptions {
  readonly path: string
  /** Size at which the file is renamed to `PATH.1`. */
  readonly maxBytes: number
  /** Number of files, including the current one. */
  readonly maxFiles: number
}

/** Milliseconds between two looks at whether another program, such as logrotate, has moved the file. */
const LOOK_MS = 5_000

/**
 * Appends lines to a file. Lines are written synchronously, so that a crash loses none. A file that another program
 * moved or removed is opened again.
 */
export class LogFile {
  readonly #options: LogFileOptions
  #descriptor: number | null = null
  #size = 0
  #lookedAt = 0
  /** Whether the last line is incomplete, because the disk was full. */
  #isTorn = false

  constructor(options: LogFileOptions) {
    this.#options = options
  }

  /** Appends a line. Throws errors of the file system. */
  append(line: string): void {
    const bytes = Buffer.from(`${this.#isTorn ? '\n' : ''}${line.endsWith('\n') ? line : `${line}\n`}`)
    const { path, maxBytes } = this.#options
    if (this.#descriptor !== null && performance.now() - this.#lookedAt > LOOK_MS) {
      this.#lookedAt = performance.now()
      if (!this.#isOurs(path)) this.close()
    }
    if (this.#descriptor !== null && this.#size + bytes.length > maxBytes) this.#rotate()
    this.#descriptor ??= this.#open()
    // A full disk may take a part of the bytes.
    for (let at = 0; at < bytes.length; ) {
      const written = writeSync(this.#descriptor, bytes, at)
      at += written
      this.#size += written
      this.#isTorn = at < bytes.length
    }
  }

  close(): void {
    if (this.#descriptor !== null) closeSync(this.#descriptor)
    this.#descriptor = null
  }

  #open(): number {
    makePrivateFolder(dirname(this.#options.path))
    const descriptor = openSync(this.#options.path, 'a', 0o600)
    this.#size = fstatSync(descriptor).size
    this.#lookedAt = performance.now()
    return descriptor
  }

  #rotate(): void {
    const { path, maxFiles } = this.#options
    const isOurs = this.#isOurs(path)
    this.close()
    // Another process has already rotated the file.
    if (!isOurs) return
    for (let number = maxFiles - 1; number >= 1; number--) {
      const from = number === 1 ? path : `${path}.${number - 1}`
      if (existsSync(from)) renameSync(from, `${path}.${number}`)
    }
    if (maxFiles === 1) rmSync(path, { force: true })
    for (let number = maxFiles; existsSync(`${path}.${number}`); number++) rmSync(`${path}.${number}`)
  }

  #isOurs(path: string): boolean {
    const own = fstatSync(this.#descriptor as number)
    const file = statSync(path, { throwIfNoEntry: false })
    return file !== undefined && own.ino === file.ino && own.dev === file.dev
  }
}

/** Reads the lines of a log file and its rotated files, oldest first. With `text`, only lines that contain it. */
export async function readLogLines(path: string, text = ''): Promise<string[]> {
  const folder = dirname(path)
  if (!existsSync(folder)) return []
  const name = basename(path)
  const numbers = readdirSync(folder)
    .filter(each => each.startsWith(`${name}.`) && /^\d+$/.test(each.slice(name.length + 1)))
    .map(each => Number(each.slice(name.length + 1)))
    .sort((a, b) => b - a)
  const lines: string[] = []
  for (const each of [...numbers.map(number => `${path}.${number}`), path]) {
    const content = await readIfPresent(each)
    for (const line of linesWith(content, text)) lines.push(line)
  }
  return lines
}

/** Another process may rotate the file at any time. */
async function readIfPresent(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw error
  }
}

function linesWith(content: string, text: string): readonly string[] {
  if (text === '') return content.split('\n').filter(line => line !== '')
  const lines: string[] = []
  for (let at = content.indexOf(text); at >= 0; ) {
    const end = content.indexOf('\n', at)
    lines.push(content.slice(content.lastIndexOf('\n', at) + 1, end < 0 ? undefined : end))
    at = end < 0 ? -1 : content.indexOf(text, end)
  }
  return lines
}
