import { open } from 'node:fs/promises'
import { type CommandIo, errorMessage } from '@svc/plugin-sdk'
import { publicationErrors } from '../errors.ts'

const MAX_BYTES = 4_096

/** Returns the token in a file or on standard input, without line breaks at its end. Throws `PUB_TOKEN_REFUSED`. */
export async function readToken(io: Pick<CommandIo, 'stdin'>, file: string | null): Promise<string> {
  const text = (file === null ? await readStream(io.stdin) : await readFile(file)).replace(/[\r\n]+$/, '')
  if (text !== '' && Buffer.byteLength(text) <= MAX_BYTES) return text
  throw refused(file, `it is empty or longer than ${MAX_BYTES} bytes`)
}

function refused(file: string | null, problem: string): Error {
  const from = file ?? 'standard input'
  return publicationErrors.create('PUB_TOKEN_REFUSED', `token from ${from}: ${problem}`, {
    hint: 'put only the token of the approver into the file'
  })
}

async function readFile(path: string): Promise<string> {
  try {
    const handle = await open(path, 'r')
    try {
      const buffer = Buffer.alloc(MAX_BYTES + 3)
      const { bytesRead } = await handle.read(buffer, 0, buffer.length, null)
      return buffer.toString('utf8', 0, bytesRead)
    } finally {
      await handle.close()
    }
  } catch (error) {
    throw refused(path, errorMessage(error))
  }
}

async function readStream(stdin: NodeJS.ReadableStream): Promise<string> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of stdin) {
    parts.push(Buffer.from(part))
    bytes += parts.at(-1)?.length ?? 0
    if (bytes > MAX_BYTES + 2) break
  }
  return Buffer.concat(parts).toString('utf8')
}
