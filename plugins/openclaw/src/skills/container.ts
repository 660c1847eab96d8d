import { type ChildProcess, execFile } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import { startChild } from '@svc/contracts'
import { openclawErrors } from '../errors.ts'
import { childEnvironment } from '../sidecar/environment.ts'
import { locateProgram } from '../sidecar/locate.ts'

/** Maximum bytes that a skill may write to its standard streams, both together. */
export const MAX_OUTPUT_BYTES = 1_048_576
/** Time limit of the check whether a runtime responds, in milliseconds. */
const CHECK_MS = 5_000
/** Time limit for the removal of a container, in milliseconds. */
const KILL_MS = 10_000
/** Pause between two attempts to end a container, in milliseconds. */
const KILL_STEP_MS = 200
/** Exit codes of docker and podman for a container that did not start. */
const NOT_STARTED = [125, 126, 127]
/** Maximum characters of an error message of the runtime. */
const MAX_REASON_CHARS = 500

/** Restrictions of every container. */
export const CONTAINER_LIMITS: readonly string[] = [
  '--network=none',
  '--read-only',
  '--tmpfs=/tmp:rw,nosuid,nodev,size=64m',
  '--user=65534:65534',
  '--cap-drop=ALL',
  '--security-opt=no-new-privileges',
  '--memory=256m',
  '--memory-swap=256m',
  '--cpus=0.5',
  '--pids-limit=64',
  '--workdir=/tmp',
  // An image is downloaded only by the user.
  '--pull=never'
]

export interface ContainerRun {
  readonly image: string
  /** Program and its arguments. */
  readonly command: readonly string[]
  /** Standard input. */
  readonly input: string
  /** Environment of the program. Its values appear in no argument. */
  readonly environment: Readonly<Record<string, string>>
  readonly timeoutMs: number
}

export interface ContainerResult {
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
}

/**
 * Returns the program of a container runtime whose service responds; null if there is none. `chosen`: name or path from
 * the settings.
 */
export async function findContainerRuntime(
  chosen: string | undefined,
  folders: readonly string[],
  environment: NodeJS.ProcessEnv
): Promise<string | null> {
  for (const name of chosen === undefined ? ['docker', 'podman'] : [chosen]) {
    const program = name.includes('/') || name.includes('\\') ? name : await locateProgram(name, folders)
    if (program !== null && (await responds(program, environment))) return program
  }
  return null
}

/**
 * Runs a program in a new container without network and rights, and removes the container. Throws `SKG_RUN_FAILED`,
 * `SKG_RUN_LIMIT` and the signal's reason.
 */
export async function runInContainer(
  runtime: string,
  { image, command, input, environment, timeoutMs }: ContainerRun,
  base: NodeJS.ProcessEnv,
  signal: AbortSignal
): Promise<ContainerResult> {
  signal.throwIfAborted()
  const name = `svc-skill-${crypto.randomUUID()}`
  const variables = Object.keys(environment).map(each => `--env=${each}`)
  const args = ['run', '--rm', '--interactive', `--name=${name}`, ...CONTAINER_LIMITS, ...variables, image, ...command]
  const env = { ...runtimeEnvironment(base), ...environment }
  const child = startChild(runtime, args, { stdio: ['pipe', 'pipe', 'pipe'], env })
  const ended = new Promise<number>((resolve, reject) => {
    child.once('error', error => reject(failed(image, error.message)))
    child.once('close', (code, by) => resolve(code ?? (by === null ? 1 : 128)))
  })
  // The reason for which the run was ended early.
  let problem: unknown
  let removal: Promise<void> | undefined
  const end = (reason: unknown): void => {
    if (problem !== undefined) return
    problem = reason
    removal = removeContainer(runtime, name, child, runtimeEnvironment(base))
  }
  const limit = (text: string): Error =>
    openclawErrors.create('SKG_RUN_LIMIT', `the skill was ended: ${text}`, {
      hint: 'run it with less input, or raise skill_timeout_ms in [plugins.openclaw]'
    })
  const timer = setTimeout(() => end(limit(`it took longer than ${timeoutMs} ms`)), timeoutMs)
  const abort = (): void => end(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  const texts = { stdout: [] as Buffer[], stderr: [] as Buffer[] }
  let bytes = 0
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes <= MAX_OUTPUT_BYTES) texts[stream].push(chunk)
      else end(limit(`it wrote more than ${MAX_OUTPUT_BYTES} bytes`))
    })
  }
  // A program that does not read its input closes the pipe.
  child.stdin.on('error', () => undefined)
  child.stdin.end(input)
  try {
    const exitCode = await ended
    await removal
    if (problem !== undefined) throw problem
    const [stdout, stderr] = [textOf(texts.stdout), textOf(texts.stderr)]
    if (NOT_STARTED.includes(exitCode))
      throw failed(image, maskValues(stderr, environment).trim().slice(0, MAX_REASON_CHARS))
    return { exitCode, stdout, stderr }
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', abort)
  }
}

/** Ends a container until its client has exited. The container outlives a killed client, and may not exist yet. */
async function removeContainer(
  runtime: string,
  name: string,
  client: ChildProcess,
  env: NodeJS.ProcessEnv
): Promise<void> {
  const until = performance.now() + KILL_MS
  while (client.exitCode === null && client.signalCode === null) {
    if (performance.now() > until) return void client.kill('SIGKILL')
    await new Promise<void>(resolve => execFile(runtime, ['kill', name], { timeout: KILL_MS, env }, () => resolve()))
    await delay(KILL_STEP_MS)
  }
}

function responds(program: string, environment: NodeJS.ProcessEnv): Promise<boolean> {
  const options = { timeout: CHECK_MS, killSignal: 'SIGKILL', env: runtimeEnvironment(environment) } as const
  return new Promise(resolve => execFile(program, ['info'], options, error => resolve(error === null)))
}

/** Adds the variables by which docker and podman find their service. */
function runtimeEnvironment(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const own = Object.entries(environment).filter(([name]) => /^(?:DOCKER|CONTAINER|CONTAINERS|PODMAN)_\w+$/.test(name))
  return { ...childEnvironment(environment), ...Object.fromEntries(own) }
}

function failed(image: string, reason: string): Error {
  return openclawErrors.create('SKG_RUN_FAILED', `a container of ${image} did not start: ${reason}`, {
    hint: `pull the image, or choose another one: shell_image and tool_image in [plugins.openclaw]`
  })
}

/** Replaces the values of variables in text; longer ones first, since one may contain another. */
export function maskValues(text: string, variables: Readonly<Record<string, string>>): string {
  const values = Object.values(variables).filter(each => each !== '')
  return values.sort((a, b) => b.length - a.length).reduce((masked, value) => masked.replaceAll(value, '***'), text)
}

function textOf(chunks: readonly Buffer[]): string {
  return Buffer.concat(chunks).toString('utf8')
}
