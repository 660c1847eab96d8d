import { type FileHandle, open } from 'node:fs/promises'
import { StringDecoder } from 'node:string_decoder'
import { setTimeout as delay } from 'node:timers/promises'
import type { CommandIo } from '@svc/plugin-sdk'
import { daemonErrors } from '../errors.ts'
import { logPath } from '../log-file.ts'
import type { DaemonProject } from './daemon-project.ts'
import { logLine } from './log-line.ts'

export interface LogsInput {
  readonly lines: number
  readonly follow: boolean
}

const STEP_MS = 100
const CHUNK = 65_536

/** Prints the last lines of the log; with `follow`, continues until interrupted. Throws `DMN_NO_LOG`. */
export async function daemonLogs(
  { root }: DaemonProject,
  { lines, follow }: LogsInput,
  io: CommandIo
): Promise<number> {
  const path = logPath(root)
  const show = (line: string): void => void io.stdout.write(`${io.json ? line : logLine(line)}\n`)
  const last = await lastLines(path, lines)
  if (last === null && !follow) {
    throw daemonErrors.create(
      'DMN_NO_LOG',
      `no background daemon was started for this project: ${path} does not exist`,
      {
        hint: 'start one with svc daemon start; svc serve logs to its terminal'
      }
    )
  }
  for (const line of last?.lines ?? []) show(line)
  if (!follow) return 0
  const reader = new Follower(path, last?.end ?? 0)
  while (!io.signal.aborted) {
    for (const line of await reader.read()) show(line)
    await delay(STEP_MS, undefined, { signal: io.signal }).catch(() => undefined)
  }
  return 0
}

/**
 * Returns the last complete lines, including those of the previous log, and the end offset. Null if there is no log.
 */
async function lastLines(
  path: string,
  count: number
): Promise<{ readonly lines: string[]; readonly end: number } | null> {
  const now = await tail(path, count)
  if (now === null || now.lines.length >= count) return now
  const before = await tail(`${path}.1`, count - now.lines.length)
  return { lines: [...(before?.lines ?? []), ...now.lines], end: now.end }
}

async function tail(path: string, count: number): Promise<{ readonly lines: string[]; readonly end: number } | null> {
  const file = await openIfThere(path)
  if (file === null) return null
  try {
    const { size } = await file.stat()
    const pieces: Buffer[] = []
    let newlines = 0
    for (let from = size; from > 0 && newlines <= count; ) {
      const length = Math.min(CHUNK, from)
      from -= length
      const piece = await readAt(file, from, length)
      newlines += piece.reduce((sum, byte) => sum + Number(byte === NEWLINE), 0)
      pieces.unshift(piece)
    }
    const text = Buffer.concat(pieces)
    const whole = text.subarray(0, text.lastIndexOf(NEWLINE) + 1)
    const lines = whole.toString('utf8').split('\n').slice(0, -1)
    return { lines: count === 0 ? [] : lines.slice(-count), end: size - (text.length - whole.length) }
  } finally {
    await file.close()
  }
}

const NEWLINE = 10

/** Reads appended data, even if the file is rotated. */
class Follower {
  readonly #path: string
  #at: number
  #rest = ''
  #decoder = new StringDecoder('utf8')

  constructor(path: string, at: number) {
    this.#path = path
    this.#at = at
  }

  async read(): Promise<string[]> {
    const file = await openIfThere(this.#path)
    if (file === null) return []
    try {
      const { size } = await file.stat()
      const begun = size < this.#at ? await this.#restOfLast() : []
      return [...begun, ...(await this.#readOn(file, size))]
    } finally {
      await file.close()
    }
  }

  async #restOfLast(): Promise<string[]> {
    const last = await openIfThere(`${this.#path}.1`)
    try {
      return last === null ? [] : await this.#readOn(last, (await last.stat()).size)
    } finally {
      await last?.close()
      this.#at = 0
    }
  }

  async #readOn(file: FileHandle, size: number): Promise<string[]> {
    const lines: string[] = []
    while (this.#at < size) {
      const bytes = await readAt(file, this.#at, Math.min(CHUNK, size - this.#at))
      if (bytes.length === 0) break
      this.#at += bytes.length
      const found = (this.#rest + this.#decoder.write(bytes)).split('\n')
      this.#rest = found.pop() ?? ''
      lines.push(...found)
    }
    return lines
  }
}

async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position)
  return buffer.subarray(0, bytesRead)
}

async function openIfThere(path: string): Promise<FileHandle | null> {
  try {
    return await open(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}
