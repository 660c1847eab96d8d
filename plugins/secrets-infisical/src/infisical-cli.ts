import { type SecretProgram, type SecretProgramResult, secretErrors } from '@svc/contracts'

export interface InfisicalCliRequest {
  readonly name: string
  readonly address: string
  /** Without a token, the program uses its stored login. */
  readonly token: string | undefined
  readonly projectId: string | undefined
  readonly environment: string
  readonly path: string
  readonly timeoutMs: number
}

/** Text that older programs print for a secret that does not exist. */
const NOT_FOUND = '*not found*'

/**
 * Reads a secret with the program `infisical`. Returns its value, undefined if the secret does not exist, or null if the
 * program is not installed. Throws `SEC_BACKEND_UNAVAILABLE`.
 */
export async function readWithProgram(
  program: SecretProgram,
  request: InfisicalCliRequest,
  signal?: AbortSignal
): Promise<string | undefined | null> {
  const { name, address, token, projectId, environment, path, timeoutMs } = request
  const args = [
    ...['secrets', 'get', '--plain', '--silent', '--telemetry=false', `--env=${environment}`, `--path=${path}`],
    ...(projectId === undefined ? [] : [`--projectId=${projectId}`]),
    ...[`--domain=${address}/api`, '--', name]
  ]
  const secrets = { INFISICAL_TOKEN: token, INFISICAL_DISABLE_UPDATE_CHECK: 'true' }
  const result = await program.run(args, secrets, timeoutMs, signal)
  if (result === null) return null
  // The program ends a value with a line break, and prints nothing for a secret that does not exist.
  const value = result.stdout.replace(/\r?\n$/, '')
  if (result.exitCode === 0) return result.stdout === '' || value === NOT_FOUND ? undefined : value
  if (/status-code=404/.test(result.stderr)) return undefined
  throw failure(result)
}

/** The program reports every failure as text. Only what is recognized here becomes part of an error. */
function failure({ exitCode, stderr }: SecretProgramResult): Error {
  const cause = exitCode === null ? 'it was ended by a signal' : `it exited with code ${exitCode}`
  const [why, hint] = /status-code=40[13]/.test(stderr)
    ? ['the server refuses the token', 'log in with the program, or set INFISICAL_TOKEN']
    : [cause, 'run the program by hand to see why']
  return secretErrors.create('SEC_BACKEND_UNAVAILABLE', `Infisical, read with its program: ${why}`, { hint })
}
