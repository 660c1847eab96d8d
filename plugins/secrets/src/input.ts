import { closeSync, openSync, readSync } from 'node:fs'
import { type CommandIo, errorMessage } from '@svc/plugin-sdk'
import { commandErrors } from './errors.ts'

const MAX_BYTES = 65_536
const ENTER = new Set(['\r', '\n'])
const CTRL_C = '\u0003'
const CTRL_D = '\u0004'
const ERASE = new Set(['\u007f', '\b'])

type Terminal = CommandIo['stdin'] & { setRawMode?(on: boolean): unknown }

/**
 * Reads a secret from a file, else without echo from a terminal, else from standard input. One line break at the end is
 * removed. Throws `SCR_INPUT_INVALID`, `SCR_FILE_INVALID` and `SCR_ABORTED`.
 */
export async function readSecret(
  io: Pick<CommandIo, 'stdin' | 'stderr' | 'signal'>,
  what: string,
  file: string | undefined
): Promise<string> {
  const text = file === undefined ? await readStream(io, what) : readText(file)
  const secret = text.replace(/\r?\n$/, '')
  if (secret.trim() !== '' && Buffer.byteLength(secret) <= MAX_BYTES) return secret
  throw commandErrors.create('SCR_INPUT_INVALID', `${what}: the value is empty or longer than ${MAX_BYTES} bytes`, {
    hint: 'enter it at the prompt, pass it on standard input, or name a file with --file'
  })
}

function readText(file: string): string {
  try {
    return readStart(file)
  } catch (error) {
    throw commandErrors.create('SCR_FILE_INVALID', `${file}: ${errorMessage(error)}`, {
      at: { file },
      hint: 'name a file with the value'
    })
  }
}

/** Returns a file or pipe, at most a little more than a secret may have. */
function readStart(file: string): string {
  const bytes = Buffer.alloc(MAX_BYTES + 3)
  const descriptor = openSync(file, 'r')
  try {
    let end = 0
    for (let count = -1; count !== 0 && end < bytes.length; end += count)
      count = readSync(descriptor, bytes, end, bytes.length - end, null)
    return bytes.toString('utf8', 0, end)
  } finally {
    closeSync(descriptor)
  }
}

async function readStream({ stdin, stderr, signal }: Pick<CommandIo, 'stdin' | 'stderr' | 'signal'>, what: string) {
  if (stdin.isTTY === true) return prompt(stdin, stderr, what, signal)
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of stdin) {
    parts.push(Buffer.from(part))
    bytes += parts.at(-1)?.length ?? 0
    if (bytes > MAX_BYTES + 2) break
  }
  return Buffer.concat(parts).toString('utf8')
}

/** Reads a line from a terminal without showing it. */
function prompt(input: Terminal, output: CommandIo['stderr'], what: string, signal: AbortSignal): Promise<string> {
  output.write(`${what}: `)
  return new Promise((resolve, reject) => {
    let text = ''
    const aborted = (): Error =>
      commandErrors.create('SCR_ABORTED', `${what}: nothing was stored`, { hint: 'run the command again' })
    const end = (finish: () => void): void => {
      input.off('data', onData)
      signal.removeEventListener('abort', onAbort)
      input.setRawMode?.(false)
      input.pause()
      output.write('\n')
      finish()
    }
    const onAbort = (): void => end(() => reject(aborted()))
    const onData = (data: Buffer | string): void => {
      for (const key of data.toString()) {
        if (ENTER.has(key) || key === CTRL_D) {
          end(() => resolve(text))
          return
        }
        if (key === CTRL_C) {
          end(() => reject(aborted()))
          return
        }
        if (ERASE.has(key)) text = [...text].slice(0, -1).join('')
        else text += key
      }
    }
    input.setRawMode?.(true)
    input.on('data', onData)
    signal.addEventListener('abort', onAbort, { once: true })
    input.resume()
  })
}
