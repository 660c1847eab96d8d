import { cliErrors } from './errors.ts'

/** JSON of an argument, or with `-` of standard input; without one an empty object. Throws `CLI_INPUT_NOT_JSON`. */
export async function readJson(text: string | undefined): Promise<unknown> {
  if (text === undefined) return {}
  const source = text === '-' ? await readStdin() : text
  try {
    return JSON.parse(source)
  } catch (cause) {
    throw cliErrors.create('CLI_INPUT_NOT_JSON', `the input is not JSON: ${(cause as Error).message}`, {
      cause,
      hint: `quote it for the shell: '{"name": "value"}'`
    })
  }
}

async function readStdin(): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}
