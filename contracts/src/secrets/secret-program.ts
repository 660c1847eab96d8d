import type { ChildProcess } from 'node:child_process'
import { delimiter, isAbsolute, join } from 'node:path'
import { errorMessage, LinkedSignal } from '@svc/plugin-sdk'
import { isExecutable } from '../workspace/executable.ts'
import { secretErrors } from './errors.ts'

const MAX_OUTPUT_BYTES = 1_048_576

/** Variables that a vendor's program gets from the environment of svc, which contains other secrets. */
export const PROGRAM_VARIABLES: readonly string[] = [
  ...['PATH', 'HOME', 'USER', 'LOGNAME', 'TMPDIR', 'XDG_CONFIG_HOME', 'XDG_RUNTIME_DIR', 'DBUS_SESSION_BUS_ADDRESS'],
  ...['SystemRoot', 'USERPROFILE', 'APPDATA', 'LOCALAPPDATA', 'TEMP', 'TMP', 'PATHEXT'],
  ...['HTTPS_PROXY', 'https_proxy', 'NO_PROXY', 'no_proxy', 'SSL_CERT_FILE', 'SSL_CERT_DIR']
]

export interface SecretProgramOptions {
  /** Name of the vendor's product, for errors. */
  readonly product: string
  /** Names of programs in the folders of `PATH`, the preferred one first; or one absolute path. */
  readonly names: readonly string[]
  /** Variables of the vendor that the program gets, too. */
  readonly variables: readonly string[]
  readonly environment: NodeJS.ProcessEnv
  /** Ends running programs when the plugin stops. */
  readonly signal: AbortSignal
}

export interface SecretProgramResult {
  /** Name of the program, for errors. */
  readonly name: string
  /** Null if a signal of the system ended it. */
  readonly exitCode: number | null
  /** May contain a secret value. */
  readonly stdout: string
  /** May contain a secret value: it decides the error, but is not part of it. */
  readonly stderr: string
}

/** Command line program of a secrets backend's vendor. It is started without a shell, and its arguments hold no secret. */
export class SecretProgram {
  readonly #options: SecretProgramOptions

  constructor(options: SecretProgramOptions) {
    this.#options = options
  }

  /**
   * Runs the program. `secrets`: variables in its environment. Returns null if it is not installed. Throws
   * `SEC_BACKEND_UNAVAILABLE` for one that does not start, end in time, or writes more than 1 MiB, and the reason of
   * `signal`.
   */
  async run(
    args: readonly string[],
    secrets: Readonly<Record<string, string | undefined>>,
    timeoutMs: number,
    signal?: AbortSignal
  ): Promise<SecretProgramResult | null> {
    const { names, variables, environment, product } = this.#options
    const found = await locate(names, environment.PATH ?? '')
    if (found === null) return null
    signal?.throwIfAborted()
    const passed = [...PROGRAM_VARIABLES, ...variables].map(name => [name, environment[name]] as const)
    const env = Object.fromEntries([...passed, ...Object.entries(secrets)].filter(([, value]) => value !== undefined))
    const limit = new LinkedSignal()
      .after(timeoutMs, () => new Error(`it took longer than ${timeoutMs} ms`))
      .with(this.#options.signal)
    if (signal !== undefined) limit.with(signal)
    try {
      return { name: found.name, ...(await runProgram(found.path, args, env, limit.signal)) }
    } catch (error) {
      signal?.throwIfAborted()
      throw secretErrors.create('SEC_BACKEND_UNAVAILABLE', `${product}: ${found.path}: ${errorMessage(error)}`, {
        hint: 'run the program by hand to see why, or set cli = "never"'
      })
    } finally {
      limit.close()
    }
  }
}

async function runProgram(
  path: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  signal: AbortSignal
): Promise<Omit<SecretProgramResult, 'name'>> {
  // Loaded on first use, since most processes do not need it.
  const { spawn } = process.getBuiltinModule('node:child_process')
  // A separate process group, so that helpers of the program end with it.
  const child = spawn(path, args, { env, stdio: ['ignore', 'pipe', 'pipe'], detached: true, windowsHide: true })
  // At once: a child that did not start, for example for lack of file descriptors, reports it soon and has no streams.
  const closed = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  let problem: unknown
  const end = (reason: unknown): void => {
    problem ??= reason
    kill(child)
    // A helper that left the process group may keep the streams open.
    for (const stream of [child.stdout, child.stderr]) stream?.destroy()
  }
  const abort = (): void => end(signal.reason)
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort, { once: true })
  const texts: Record<'stdout' | 'stderr', Buffer[]> = { stdout: [], stderr: [] }
  let bytes = 0
  for (const stream of ['stdout', 'stderr'] as const)
    child[stream]?.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes <= MAX_OUTPUT_BYTES) texts[stream].push(chunk)
      else end(new Error(`it wrote more than ${MAX_OUTPUT_BYTES} bytes`))
    })
  try {
    const exitCode = await closed
    if (problem !== undefined) throw problem
    const text = (stream: 'stdout' | 'stderr'): string => Buffer.concat(texts[stream]).toString('utf8')
    return { exitCode, stdout: text('stdout'), stderr: text('stderr') }
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

function kill(child: ChildProcess): void {
  if (child.pid === undefined) return
  try {
    if (process.platform === 'win32') child.kill('SIGKILL')
    else process.kill(-child.pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}

/** Returns the first executable file. Relative folders of `PATH` are ignored: their content depends on the working folder. */
async function locate(
  names: readonly string[],
  searchPath: string
): Promise<{ readonly name: string; readonly path: string } | null> {
  const folders = searchPath.split(delimiter).filter(each => isAbsolute(each))
  for (const name of names) {
    if (isAbsolute(name)) return (await isExecutable(name)) ? { name, path: name } : null
    for (const folder of folders) {
      const path = join(folder, process.platform === 'win32' ? `${name}.exe` : name)
      if (await isExecutable(path)) return { name, path }
    }
  }
  return null
}
