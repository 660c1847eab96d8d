import { type SecretProgram, type SecretProgramResult, secretErrors } from '@svc/contracts'

/** Variables of the vendors' programs: certificates and the place of the stored login. */
export const VAULT_VARIABLES: readonly string[] = ['VAULT', 'BAO'].flatMap(vendor =>
  ['CACERT', 'CAPATH', 'CLIENT_CERT', 'CLIENT_KEY', 'TLS_SERVER_NAME', 'CONFIG_PATH'].map(name => `${vendor}_${name}`)
)

export interface VaultCliRequest {
  /** Name of the secret, for errors. */
  readonly name: string
  readonly mount: string
  readonly path: string
  readonly field: string
  readonly address: string
  /** Without a token, the program uses its stored login. */
  readonly token: string | undefined
  readonly namespace: string | undefined
  readonly timeoutMs: number
}

/** Why the program could not return a secret: the server refused, or the secret does not exist. */
type Failure = { readonly isMissing: boolean; readonly why: string; readonly hint: string }

/**
 * Reads a field with the program `vault` or `bao`, which knows logins and certificates that svc does not. Returns null if
 * neither is installed. Throws `SEC_NOT_FOUND` and `SEC_BACKEND_UNAVAILABLE`.
 */
export async function readWithProgram(
  program: SecretProgram,
  request: VaultCliRequest,
  signal?: AbortSignal
): Promise<string | null> {
  const { mount, path, field, address, token, namespace, name } = request
  const values = { ADDR: address, TOKEN: token, NAMESPACE: namespace }
  const variables = ['VAULT', 'BAO'].flatMap(vendor =>
    Object.entries(values).map(([key, value]) => [`${vendor}_${key}`, value] as const)
  )
  // As JSON, a text is distinct from a number, and keeps its last line break.
  const args = ['kv', 'get', '-format=json', `-field=${field}`, '--', `${mount}/${path}`]
  const result = await program.run(args, Object.fromEntries(variables), request.timeoutMs, signal)
  if (result === null) return null
  if (result.exitCode === 0) {
    const value = textOf(result.stdout)
    if (value !== null) return value
    throw unavailable(result, `the field ${field} of ${path} is not a text`, 'store it as a text')
  }
  const { isMissing, why, hint } = failureOf(result, path)
  if (!isMissing) throw unavailable(result, why, hint)
  throw secretErrors.create('SEC_NOT_FOUND', `secret://vault/${name}: ${why}`, { hint })
}

function textOf(json: string): string | null {
  try {
    const value: unknown = JSON.parse(json)
    return typeof value === 'string' ? value : null
  } catch {
    return null
  }
}

/** The program reports every failure as text. Only what is recognized here becomes part of an error. */
function failureOf({ exitCode, stderr }: SecretProgramResult, path: string): Failure {
  if (/No value found at|^Field ".*" not present/m.test(stderr))
    return { isMissing: true, why: `${path} or its field does not exist`, hint: 'vault kv put stores it' }
  if (/Code: 503|is sealed/.test(stderr))
    return { isMissing: false, why: 'the server is sealed or not ready', hint: 'vault status shows its state' }
  if (/Code: 40[013]/.test(stderr))
    return {
      isMissing: false,
      why: `the token is absent, has ended, or may not read ${path}`,
      hint: 'log in with the program, or set VAULT_TOKEN'
    }
  const cause = exitCode === null ? 'was ended by a signal' : `exited with code ${exitCode}`
  return { isMissing: false, why: `it ${cause}`, hint: 'run the program by hand to see why' }
}

function unavailable({ name }: SecretProgramResult, why: string, hint: string): Error {
  return secretErrors.create('SEC_BACKEND_UNAVAILABLE', `Vault, read with ${name}: ${why}`, { hint })
}
