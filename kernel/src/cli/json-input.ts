import { errorMessage, readStrictJson } from '@svc/plugin-sdk'
import { cliErrors } from './errors.ts'

/** Parses a JSON argument; `-` reads standard input, undefined gives an empty object. Throws `CLI_INPUT_NOT_JSON`. */
export async function readJson(text: string | undefined): Promise<unknown> {
  if (text === undefined) return {}
  const source = text === '-' ? await readStdin() : Buffer.from(text)
  try {
    const value = readStrictJson(source)
    if (value === undefined) throw new SyntaxError('it is empty')
    return value
  } catch (cause) {
    throw cliErrors.create('CLI_INPUT_NOT_JSON', `the input is not JSON: ${errorMessage(cause)}`, {
      cause,
      hint: `quote it for the shell: '{"name": "value"}'`
    })
  }
}

async function readStdin(): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}
