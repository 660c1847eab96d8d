import { startChild } from '@svc/contracts'
import { errorMessage } from '@svc/plugin-sdk'
import { workspaceErrors } from './errors.ts'

const TIMEOUT_MS = 20_000
const MAX_ERROR_BYTES = 4_096

export interface GitOutput {
  readonly text: string
  /** True if the output was longer than the limit; the rest is not read. */
  readonly truncated: boolean
}

/**
 * Runs git in a folder and returns its output, at most `maxBytes`.
 *
 * Throws `WSP_GIT_MISSING`, `WSP_NOT_REPOSITORY`, `WSP_GIT_TIMEOUT` and `WSP_GIT_FAILED`; the signal's reason if it is
 * aborted.
 */
export async function git(
  cwd: string,
  args: readonly string[],
  { maxBytes, signal }: { readonly maxBytes: number; readonly signal: AbortSignal }
): Promise<GitOutput> {
  signal.throwIfAborted()
  // A repository can configure programs that git starts: a file monitor and a pager are disabled here.
  const child = startChild('git', ['--no-pager', '-c', 'core.fsmonitor=false', '-c', 'core.quotePath=false', ...args], {
    cwd,
    env: { ...process.env, GIT_OPTIONAL_LOCKS: '0', GIT_TERMINAL_PROMPT: '0', LC_ALL: 'C' },
    stdio: ['ignore', 'pipe', 'pipe']
  })
  const stop = (): void => void child.kill('SIGKILL')
  const timer = AbortSignal.timeout(TIMEOUT_MS)
  timer.addEventListener('abort', stop, { once: true })
  signal.addEventListener('abort', stop, { once: true })
  const chunks: Buffer[] = []
  let bytes = 0
  let truncated = false
  child.stdout.on('data', (chunk: Buffer) => {
    if (truncated) return
    chunks.push(chunk.subarray(0, maxBytes - bytes))
    bytes += chunk.length
    if (bytes <= maxBytes) return
    truncated = true
    stop()
  })
  let problem = ''
  child.stderr.on('data', (chunk: Buffer) => {
    if (problem.length < MAX_ERROR_BYTES) problem += chunk.toString()
  })
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject)
      child.once('close', resolve)
    })
    if (truncated || code === 0) return { text: new TextDecoder().decode(Buffer.concat(chunks)), truncated }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
      throw workspaceErrors.create('WSP_GIT_FAILED', `git cannot be started: ${errorMessage(error)}`, { cause: error })
    throw workspaceErrors.create('WSP_GIT_MISSING', 'git cannot be started: it is not on the PATH', {
      hint: 'install git'
    })
  } finally {
    timer.removeEventListener('abort', stop)
    signal.removeEventListener('abort', stop)
  }
  signal.throwIfAborted()
  throw failure(args[0] ?? '', problem, timer.aborted)
}

function failure(command: string, problem: string, late: boolean): Error {
  if (late)
    return workspaceErrors.create('WSP_GIT_TIMEOUT', `git ${command} did not finish within ${TIMEOUT_MS} ms`, {
      hint: 'run the command in a terminal to see what it waits for'
    })
  if (/not a git repository/i.test(problem))
    return workspaceErrors.create('WSP_NOT_REPOSITORY', 'the project is not in a git repository', {
      hint: 'run: git init'
    })
  const [line = ''] = problem.trim().split('\n')
  return workspaceErrors.create('WSP_GIT_FAILED', `git ${command}: ${line.slice(0, 300) || 'failed without a message'}`)
}
